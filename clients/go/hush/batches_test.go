package hush

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"
)

// A client makes no batches, and a relay in another language would: these readers follow spec/http.md alone.

func splitBatch(plan *Plan, body []byte) (key []byte, own int, sealed [][]byte, err error) {
	const head = 42
	size := 48 + plan.longest()
	if len(body) < head || !bytes.HasPrefix(body, []byte("HUSHS1")) {
		return nil, 0, nil, errors.New("not a batch")
	}
	rest := body[head:]
	if len(rest) == 0 || len(rest)%size != 0 || len(rest)/size > 65536 {
		return nil, 0, nil, errors.New("not sealed reports of the plan")
	}
	for ; len(rest) > 0; rest = rest[size:] {
		sealed = append(sealed, rest[:size])
	}
	if err := CheckKey(hex.EncodeToString(body[6:38])); err != nil {
		return nil, 0, nil, err
	}
	count := binary.BigEndian.Uint32(body[38:head])
	if count > uint32(len(sealed)) {
		return nil, 0, nil, errors.New("more own reports than reports")
	}
	return body[6:38], int(count), sealed, nil
}

// openReport is the other side of sealWith.
func openReport(plan *Plan, secret, public, sealed []byte) (*Report, error) {
	sent := sealed[:keyBytes]
	first := extract(kemSuite, nil, "eae_prk", x25519(secret, sent))
	agreed := expand(kemSuite, first, "shared_secret", append(append([]byte{}, sent...), public...), keyBytes)
	context := append([]byte{0}, extract(hpkeSuite, nil, "psk_id_hash", nil)...)
	context = append(context, extract(hpkeSuite, nil, "info_hash", append([]byte(sealedInfo), plan.hash[:]...))...)
	mixed := extract(hpkeSuite, agreed, "secret", nil)
	block, err := aes.NewCipher(expand(hpkeSuite, mixed, "key", context, 16))
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	text, err := gcm.Open(nil, expand(hpkeSuite, mixed, "base_nonce", context, 12), sealed[keyBytes:], nil)
	if err != nil {
		return nil, err
	}
	return plan.DecodeReport(text) // all reports of the plan of these vectors are equally long: there is no padding
}

func TestSealedBatches(t *testing.T) {
	var file struct {
		About, Plan, Secret, Key string
		Good                     []struct {
			About, Body, ID string
			Own             int
			Sealed, Reports []string
		}
		Bad []struct{ Body, Why string }
	}
	load(t, "sealed-batches.json", &file)
	plan, secret, public := mustParse(t, file.Plan), unhex(t, file.Secret), unhex(t, file.Key)
	for _, one := range file.Good {
		body := unhex(t, one.Body)
		made := append([]byte("HUSHS1"), public...)
		made = binary.BigEndian.AppendUint32(made, uint32(one.Own))
		for _, sealed := range one.Sealed {
			made = append(made, unhex(t, sealed)...)
		}
		if !bytes.Equal(made, body) {
			t.Errorf("%s: another body is made", one.About)
		}
		if hash := sha256.Sum256(body); hex.EncodeToString(hash[:16]) != one.ID {
			t.Errorf("%s: another id", one.About)
		}
		key, own, sealed, err := splitBatch(plan, body)
		if err != nil || !bytes.Equal(key, public) || own != one.Own || len(sealed) != len(one.Sealed) {
			t.Fatalf("%s: %v", one.About, err)
		}
		found, seen := []string{}, map[string]bool{}
		for _, text := range sealed {
			report, err := openReport(plan, secret, public, text)
			if err != nil {
				continue
			}
			written := report.Binary()
			if id := string(written[9:25]); !seen[id] {
				seen[id] = true
				found = append(found, hex.EncodeToString(written))
			}
		}
		if len(found) != len(one.Reports) {
			t.Fatalf("%s: %d reports", one.About, len(found))
		}
		for i, report := range found {
			if report != one.Reports[i] {
				t.Errorf("%s: another report", one.About)
			}
		}
	}
	for _, one := range file.Bad {
		if _, _, _, err := splitBatch(plan, unhex(t, one.Body)); err == nil {
			t.Errorf("taken: %s", one.Why)
		}
	}
}
