package main

import (
	"bytes"
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
