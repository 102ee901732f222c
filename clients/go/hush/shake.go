package hush

import (
	"encoding/binary"
	"math/bits"
)

const shakeRate = 136 // bytes of the state that a message goes into

// shake256 is the first size bytes of SHAKE-256 of FIPS 202. Go 1.19 does not bring it.
func shake256(message []byte, size int) []byte {
	var state [25]uint64
	padded := make([]byte, (len(message)/shakeRate+1)*shakeRate)
	copy(padded, message)
	padded[len(message)] = 0x1f
	padded[len(padded)-1] |= 0x80
	for ; len(padded) > 0; padded = padded[shakeRate:] {
		for i := 0; i < shakeRate/8; i++ {
			state[i] ^= binary.LittleEndian.Uint64(padded[8*i:])
		}
		permute(&state)
	}
	var out []byte
	for len(out) < size {
		if len(out) > 0 {
			permute(&state)
		}
		for _, lane := range state[:shakeRate/8] {
			out = binary.LittleEndian.AppendUint64(out, lane)
		}
	}
	return out[:size]
}

// permute is Keccak-f[1600] on 25 lanes: lane x, y is at x + 5y.
func permute(a *[25]uint64) {
	register := 1 // the shift register that makes the constants of the rounds
	for round := 0; round < 24; round++ {
		var parity [5]uint64
		for i, lane := range a {
			parity[i%5] ^= lane
		}
		for i := range a {
			a[i] ^= parity[(i+4)%5] ^ bits.RotateLeft64(parity[(i+1)%5], 1)
		}
		x, y, moved := 1, 0, a[1]
		for t := 0; t < 24; t++ {
			x, y = y, (2*x+3*y)%5
			at := x + 5*y
			moved, a[at] = a[at], bits.RotateLeft64(moved, (t+1)*(t+2)/2)
		}
		for y := 0; y < 25; y += 5 {
			var row [5]uint64
			copy(row[:], a[y:])
			for x := range row {
				a[y+x] ^= ^row[(x+1)%5] & row[(x+2)%5]
			}
		}
		for j := 0; j < 7; j++ {
			if register&1 == 1 {
				a[0] ^= 1 << (1<<j - 1)
			}
			register = register<<1 ^ register>>7*0x171
		}
	}
}
