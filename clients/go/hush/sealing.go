package hush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"sort"
)

const (
	keyBytes   = 32
	kemSuite   = "KEM\x00\x20"
	hpkeSuite  = "HPKE\x00\x20\x00\x01\x00\x01"
	sealedInfo = "hush sealed report 2"
)

// Seal returns the report sealed for the owner of a key (64 hexadecimal digits), to send through a relay. Pin the key
// beside the plan's id. All sealed reports of a plan have one length. Every call gives other bytes: keep them to send
// them again.
func (r *Report) Seal(key string) ([]byte, error) {
	public, err := readKey(key)
	if err != nil {
		return nil, err
	}
	secret := make([]byte, keyBytes)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("no randomness: %w", err)
	}
	text := make([]byte, r.plan.longest())
	copy(text, r.Binary())
	return sealWith(secret, text, public, append([]byte(sealedInfo), r.plan.hash[:]...), nil)
}

// CheckKey refuses what is not the public key of a collector (64 hexadecimal digits), and points of small order: with these
// X25519 agrees on zeros, so everybody could read what is sealed.
func CheckKey(key string) error {
	_, err := readKey(key)
	return err
}

func readKey(key string) ([]byte, error) {
	public, err := hex.DecodeString(key)
	if err != nil || len(public) != keyBytes || hex.EncodeToString(public) != key {
		return nil, errors.New("the key of a collector must be 64 hexadecimal digits")
	}
	if string(x25519(make([]byte, keyBytes), public)) == string(make([]byte, keyBytes)) { // whatever the secret is
		return nil, errors.New("the key of a collector is not a key: everybody could read what is sealed for it")
	}
	return public, nil
}

// longest is the length of the plan's longest binary report.
func (p *Plan) longest() int {
	widths := []int{}
	for _, q := range p.questions {
		widths = append(widths, q.channel.alphabet().bytes())
	}
	sort.Sort(sort.Reverse(sort.IntSlice(widths)))
	total := 25 + p.k*p.indexBytes()
	for _, width := range widths[:p.k] {
		total += width
	}
	return total
}

// sealWith is HPKE (RFC 9180), base mode, with this ephemeral secret.
func sealWith(secret, text, public, info, extra []byte) ([]byte, error) {
	base := make([]byte, keyBytes)
	base[0] = 9
	sent, shared := x25519(secret, base), x25519(secret, public)
	if string(shared) == string(make([]byte, keyBytes)) {
		return nil, errors.New("the key of a collector is not a key")
	}
	first := extract(kemSuite, nil, "eae_prk", shared)
	agreed := expand(kemSuite, first, "shared_secret", append(append([]byte{}, sent...), public...), keyBytes)
	context := append([]byte{0}, extract(hpkeSuite, nil, "psk_id_hash", nil)...)
	context = append(context, extract(hpkeSuite, nil, "info_hash", info)...)
	mixed := extract(hpkeSuite, agreed, "secret", nil)
	block, err := aes.NewCipher(expand(hpkeSuite, mixed, "key", context, 16))
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return gcm.Seal(sent, expand(hpkeSuite, mixed, "base_nonce", context, 12), text, extra), nil
}

func digest(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

func extract(suite string, salt []byte, label string, given []byte) []byte {
	return digest(salt, []byte("HPKE-v1"+suite+label), given)
}

// expand returns at most 32 bytes: one block of HKDF.
func expand(suite string, key []byte, label string, context []byte, length int) []byte {
	return digest(key, []byte{0, byte(length)}, []byte("HPKE-v1"+suite+label), context, []byte{1})[:length]
}

// x25519 is the multiple of a point of Curve25519 (RFC 7748): Montgomery's ladder. Its time depends on the secret, which
// is used for one report; the report is private by its noise.
func x25519(secret, point []byte) []byte {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	k, u := little(secret), little(point)
	k.SetBit(k, 255, 0).SetBit(k, 254, 1).SetBit(k, 0, 0).SetBit(k, 1, 0).SetBit(k, 2, 0)
	u.SetBit(u, 255, 0)
	times := func(x, y *big.Int) *big.Int { z := new(big.Int).Mul(x, y); return z.Mod(z, p) }
	plus := func(x, y *big.Int) *big.Int { return new(big.Int).Add(x, y) }
	minus := func(x, y *big.Int) *big.Int { return new(big.Int).Sub(x, y) }
	a, b, c, d := big.NewInt(1), big.NewInt(0), u, big.NewInt(1) // the points a/b and c/d differ by u
	for i := 254; i >= 0; i-- {
		if k.Bit(i) == 1 {
			a, b, c, d = c, d, a, b
		}
		sum, rest := plus(a, b), minus(a, b)
		squared, less := times(sum, sum), times(rest, rest)
		one, two := times(minus(c, d), sum), times(plus(c, d), rest)
		gap := minus(squared, less)
		c, d = times(plus(one, two), plus(one, two)), times(u, times(minus(one, two), minus(one, two)))
		a, b = times(squared, less), times(gap, plus(squared, times(big.NewInt(121665), gap)))
		if k.Bit(i) == 1 {
			a, b, c, d = c, d, a, b
		}
	}
	found := times(a, new(big.Int).Exp(b, minus(p, big.NewInt(2)), p))
	out := found.FillBytes(make([]byte, keyBytes))
	for i := 0; i < keyBytes/2; i++ {
		out[i], out[keyBytes-1-i] = out[keyBytes-1-i], out[i]
	}
	return out
}

// little reads bytes, the least first, as a number.
func little(data []byte) *big.Int {
	turned := make([]byte, len(data))
	for i, b := range data {
		turned[len(data)-1-i] = b
	}
	return new(big.Int).SetBytes(turned)
}
