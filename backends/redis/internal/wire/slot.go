package wire

import (
	"strconv"
	"sync"
)

// Slots is how many a cluster has.
const Slots = 16384

// SlotOf returns the slot of a key whose name has a text in braces.
func SlotOf(text string) int {
	crc := uint16(0)
	for i := range len(text) {
		crc = crc<<4 ^ nibbles[crc>>12^uint16(text[i])>>4]
		crc = crc<<4 ^ nibbles[crc>>12^uint16(text[i])&15]
	}
	return int(crc % Slots)
}

// nibbles has what four bits add to a checksum by CRC-16/XMODEM.
var nibbles = [16]uint16{0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
	0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef}

// Tags has for each slot the least decimal number that lies in it. No text of a partition
// has digits alone: each ends with '#'.
var Tags = sync.OnceValue(func() *[Slots]string {
	var list [Slots]string
	for n, found := 0, 0; found < Slots; n++ {
		text := strconv.Itoa(n)
		if at := SlotOf(text); list[at] == "" {
			list[at], found = text, found+1
		}
	}
	return &list
})
