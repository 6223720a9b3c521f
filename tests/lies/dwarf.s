# SPDX-License-Identifier: GPL-3.0-or-later
# One unit of hand-written DWARF 4; tests/lies.sh puts the DIEs where it says DIES.
# References are labels; each macro writes one DIE.

	.macro ref label
	.long \label - .Lunit
	.endm

	.macro base name, encoding, size
	.uleb128 2
	.string "\name"
	.byte \encoding, \size
	.endm

	.macro struct name, size
	.uleb128 3
	.string "\name"
	.quad \size
	.endm

	.macro member name, type, offset
	.uleb128 4
	.string "\name"
	ref \type
	.uleb128 \offset
	.endm

	.macro pointer type
	.uleb128 5
	ref \type
	.endm

	.macro array type, count
	.uleb128 6
	ref \type
	.uleb128 7
	.quad \count
	.byte 0
	.endm

	.macro variable name, type, symbol
	.uleb128 8
	.string "\name"
	ref \type
	.uleb128 9
	.byte 3
	.quad \symbol
	.endm

	.macro typedef name, type
	.uleb128 9
	.string "\name"
	ref \type
	.endm

	.macro constant type
	.uleb128 10
	ref \type
	.endm

	.macro bits name, type, size, offset
	.uleb128 11
	.string "\name"
	ref \type
	.quad \size
	.uleb128 \offset
	.endm

	.macro next sibling
	.uleb128 12
	ref \sibling
	.endm

	.macro raw offset
	.long \offset
	.endm

	.macro end
	.byte 0
	.endm

	.macro abbreviation number, tag, children
	.uleb128 \number, \tag
	.byte \children
	.endm

	.section .debug_abbrev
	abbreviation 1, 0x11, 1         # compile unit: language, name
	.uleb128 0x13, 0x0b, 0x03, 0x08, 0, 0
	abbreviation 2, 0x24, 0         # base type: name, encoding, size
	.uleb128 0x03, 0x08, 0x3e, 0x0b, 0x0b, 0x0b, 0, 0
	abbreviation 3, 0x13, 1         # struct: name, size
	.uleb128 0x03, 0x08, 0x0b, 0x07, 0, 0
	abbreviation 4, 0x0d, 0         # member: name, type, location
	.uleb128 0x03, 0x08, 0x49, 0x13, 0x38, 0x0f, 0, 0
	abbreviation 5, 0x0f, 0         # pointer: type
	.uleb128 0x49, 0x13, 0, 0
	abbreviation 6, 0x01, 1         # array: type
	.uleb128 0x49, 0x13, 0, 0
	abbreviation 7, 0x21, 0         # subrange: count
	.uleb128 0x37, 0x07, 0, 0
	abbreviation 8, 0x34, 0         # variable: name, type, location
	.uleb128 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0, 0
	abbreviation 9, 0x16, 0         # typedef: name, type
	.uleb128 0x03, 0x08, 0x49, 0x13, 0, 0
	abbreviation 10, 0x26, 0        # const: type
	.uleb128 0x49, 0x13, 0, 0
	abbreviation 11, 0x0d, 0        # bit-field: name, type, size, offset in bits
	.uleb128 0x03, 0x08, 0x49, 0x13, 0x0d, 0x07, 0x6b, 0x0f, 0, 0
	abbreviation 12, 0x2e, 1        # function: sibling
	.uleb128 0x01, 0x13, 0, 0
	.byte 0

	.section .debug_info
.Lunit:
	.long .Lend - .Lversion
.Lversion:
	.value 4
	.long 0
	.byte 8
	.uleb128 1
	.byte 0x0c
	.string "lies.c"
DIES
	end
.Lend:
	.section .note.GNU-stack, "", @progbits
