# SPDX-License-Identifier: GPL-3.0-or-later
# What is true of BIND's named with many zones, by its zone manager's own list, and the faults
# that are planted in it. Says COUNT TYPE NUMBER for types whose objects that list reaches, OVER,
# UNDER or LOST TYPE ADDRESS for each planted fault.
#
# $light is set before for faults that the daemon survives to its end.

set pagination off
set confirm off
set $manager = (struct dns_zonemgr *)named_g_server->zonemgr

# nth NUMBER: that zone of the list, in $zone
define nth
	set $zone = $manager->zones.head
	set $left = $arg0
	while $left > 0 && $zone
		set $zone = $zone->link.next
		set $left = $left - 1
	end
end

define over_acl
	nth $arg0
	printf "OVER dns_acl %#lx\n", $zone->query_acl
	set var $zone->query_acl->refcount += 1
end

define lost_acl
	nth $arg0
	printf "LOST dns_acl %#lx\n", $zone->query_acl
	set var $zone->query_acl = 0
end

define over_db
	nth $arg0
	printf "OVER dns_rbtdb %#lx\n", $zone->db
	set var ((struct dns_rbtdb *)$zone->db)->references += 1
end

define over_zone
	nth $arg0
	printf "OVER dns_zone %#lx\n", $zone
	set var $zone->erefs += 1
end

set $zones = 0
set $acls = 0
set $databases = 0
set $zone = $manager->zones.head
while $zone
	set $zones = $zones + 1
	set $acls = $acls + ($zone->query_acl != 0) + ($zone->update_acl != 0)
	set $databases = $databases + ($zone->db != 0)
	set $zone = $zone->link.next
end
printf "COUNT dns_zone %d\n", $zones
printf "COUNT dns_acl %d\n", $acls
printf "COUNT dns_rbtdb %d\n", $databases

over_acl 20
over_acl 70
lost_acl 40
lost_acl 41
lost_acl 42
if !$light
	over_db 30
	over_zone 10
	over_zone 60
	nth 80
	printf "UNDER dns_acl %#lx\n", $zone->query_acl
	set var $zone->query_acl->refcount -= 1
end
