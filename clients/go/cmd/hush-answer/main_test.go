package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hush.example/client/hush"
)

func TestRun(t *testing.T) {
	data, err := os.ReadFile("../../../../spec/vectors/channel-grr.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Plan, ID string }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	plan, err := hush.ParsePlan([]byte(file.Plan))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer word" {
			w.WriteHeader(401)
			return
		}
		if r.Method == http.MethodGet {
			io.WriteString(w, file.Plan)
			return
		}
		body, _ := io.ReadAll(r.Body)
		report, err := plan.DecodeReport(body)
		if err != nil {
			w.WriteHeader(422)
			return
		}
		w.WriteHeader(202)
		json.NewEncoder(w).Encode(map[string]any{"id": report.ID(), "new": !seen[report.ID()], "reports": 1})
		seen[report.ID()] = true
	}))
	defer server.Close()
	folder := t.TempDir()
	ledger, token := filepath.Join(folder, "ledger.json"), filepath.Join(folder, "token")
	if err := os.WriteFile(token, []byte("word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(record string, arguments ...string) (int, string, string) {
		var out, problems bytes.Buffer
		all := append([]string{"-collector", server.URL, "-plan", file.ID, "-ledger", ledger}, arguments...)
		status := run(append(all, "-"), strings.NewReader(record), &out, &problems)
		return status, out.String(), problems.String()
	}
	good := `{"two": "yes", "ten": 7, "many": 27}`
	if status, _, problems := call(good); status != 1 || !strings.Contains(problems, "401") {
		t.Error(status, problems)
	}
	if status, _, problems := call(`{"two": "yes", "ten": 7731, "many": 27}`, "-token-file", token); status != 1 ||
		!strings.Contains(problems, `attribute "ten": it must be one of the plan's categories`) || strings.Contains(problems, "7731") {
		t.Error(status, problems)
	}
	if status, out, problems := call(good, "-token-file", token); status != 0 || !strings.HasSuffix(out, ": counted\n") {
		t.Error(status, out, problems)
	}
	if status, out, problems := call(good, "-token-file", token); status != 0 || !strings.HasSuffix(out, ": counted before\n") {
		t.Error(status, out, problems)
	}
	if len(seen) != 1 {
		t.Errorf("%d reports", len(seen))
	}
	if status := run([]string{"-plan", file.ID}, nil, io.Discard, io.Discard); status != 2 {
		t.Error(status)
	}
	if status := run([]string{"-help"}, nil, io.Discard, io.Discard); status != 0 {
		t.Error(status)
	}
}

// With the plan in hand the report is kept without a network, and the next run sends it; through a relay too.
func TestRunWithoutANetwork(t *testing.T) {
	data, err := os.ReadFile("../../../../spec/vectors/channel-grr.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Plan, ID string }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	folder, sent := t.TempDir(), [][]byte{}
	plan := filepath.Join(folder, "plan.json")
	if err := os.WriteFile(plan, []byte(file.Plan+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, body)
		w.WriteHeader(202)
		if strings.HasPrefix(r.URL.Path, "/sealed/") {
			io.WriteString(w, `{"reports": 1, "new": 1}`)
			return
		}
		parsed, _ := hush.ParsePlan([]byte(file.Plan))
		report, _ := parsed.DecodeReport(body)
		json.NewEncoder(w).Encode(map[string]any{"id": report.ID(), "new": true, "reports": 1})
	}))
	defer server.Close()
	call := func(record string, arguments ...string) (int, string) {
		var out bytes.Buffer
		return run(append(append([]string{"-plan", plan, "-timeout", "200ms"}, arguments...), "-"), strings.NewReader(record), &out, &out), out.String()
	}
	good, other := `{"two": "yes", "ten": 7, "many": 27}`, `{"two": "no", "ten": 1, "many": 1}`
	key := "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"
	for _, way := range [][]string{{"-collector"}, {"-relay"}} {
		ledger := []string{"-ledger", filepath.Join(folder, way[0])}
		if way[0] == "-relay" {
			ledger = append(ledger, "-key", key)
		}
		if status, out := call(good, append(ledger, way[0], "http://127.0.0.1:9")...); status != 1 || !strings.Contains(out, "is kept in the ledger") {
			t.Error(status, out)
		}
		before, err := os.ReadFile(filepath.Join(folder, way[0]))
		if err != nil {
			t.Fatal(err)
		}
		words := map[string]string{"-collector": ": counted\n", "-relay": ": held by the relay\n"}[way[0]]
		if status, out := call(other, append(ledger, way[0], server.URL)...); status != 0 || !strings.HasSuffix(out, words) {
			t.Error(status, out)
		}
		if len(sent) == 0 || way[0] == "-collector" && !bytes.Contains(before, []byte(hex.EncodeToString(sent[0]))) {
			t.Error("another report was sent than the one that was kept")
		}
		if way[0] == "-relay" && !bytes.Contains(before, []byte(hex.EncodeToString(sent[1]))) {
			t.Error("other sealed bytes were sent than those that were kept")
		}
	}
	for _, wrong := range [][]string{{"-relay", "x"}, {"-key", key}, {"-relay", "x", "-key", key, "-collector", "y"}, {"-relay", "x", "-key", key, "-token-file", "z"}} {
		if status, _ := call(good, append(wrong, "-ledger", "l")...); status != 2 {
			t.Error(wrong, status)
		}
	}
}
