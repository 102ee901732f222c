package hush

import (
	"encoding/hex"
	"strings"
	"testing"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// RFC 9180, A.1.1: the first encryption.
func TestHPKEAsPublished(t *testing.T) {
	sealed, err := sealWith(
		unhex(t, "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"),
		[]byte("Beauty is truth, truth beauty"),
		unhex(t, "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"),
		[]byte("Ode on a Grecian Urn"),
		[]byte("Count-0"),
	)
	if err != nil {
		t.Fatal(err)
	}
	wanted := "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431" +
		"f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
	if hex.EncodeToString(sealed) != wanted {
		t.Errorf("%x", sealed)
	}
}

func TestSealedReports(t *testing.T) {
	var file struct {
		About, Plan, Secret, Key string
		Questions                []struct{ Ephemeral, Text, Question string }
		BadKeys                  []struct{ Key, Why string } `json:"bad_keys"`
		Cases                    []struct{ Ephemeral, Report, Sealed string }
	}
	load(t, "sealed.json", &file)
	plan := mustParse(t, file.Plan)
	info := append([]byte(sealedInfo), plan.hash[:]...)
	base := make([]byte, keyBytes)
	base[0] = 9
	if hex.EncodeToString(x25519(unhex(t, file.Secret), base)) != file.Key {
		t.Error("the key is not that of the secret")
	}
	for _, one := range file.Cases {
		report, err := plan.DecodeReport(unhex(t, one.Report))
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, plan.longest())
		copy(text, report.Binary())
		sealed, err := sealWith(unhex(t, one.Ephemeral), text, unhex(t, file.Key), info, nil)
		if err != nil || hex.EncodeToString(sealed) != one.Sealed {
			t.Errorf("%x, %v", sealed, err)
		}
		first, err := report.Seal(file.Key)
		if err != nil || len(first) != len(sealed) {
			t.Errorf("%d bytes, %v", len(first), err)
		}
		if second, _ := report.Seal(file.Key); string(first) == string(second) {
			t.Error("sealed twice alike")
		}
		for _, key := range []string{"", "00", strings.ToUpper(file.Key), file.Key + "00"} {
			if _, err := report.Seal(key); err == nil {
				t.Errorf("the key %q is taken", key)
			}
		}
	}
	for _, one := range file.Questions {
		bound := append([]byte("hush plan closed 1"), plan.hash[:]...)
		asked, err := sealWith(unhex(t, one.Ephemeral), unhex(t, one.Text), unhex(t, file.Key), bound, nil)
		if err != nil || hex.EncodeToString(asked) != one.Question {
			t.Errorf("%x, %v", asked, err)
		}
	}
	if len(file.Questions) != 2 || len(file.BadKeys) != 14 {
		t.Error(len(file.Questions), len(file.BadKeys))
	}
	report, err := plan.DecodeReport(unhex(t, file.Cases[0].Report))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range file.BadKeys {
		if _, err := report.Seal(bad.Key); err == nil || !strings.Contains(err.Error(), "is not a key") {
			t.Error(bad.Why, err)
		}
	}
}
