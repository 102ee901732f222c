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
		if status, out := call(other, append(ledger, "-timeout", "30s", way[0], server.URL)...); status != 0 || !strings.HasSuffix(out, words) {
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

// A plan that names a long list: the program fetches it from the collector, or is given it; another list is refused.
func TestLongLists(t *testing.T) {
	read := func(name string, found any) {
		t.Helper()
		data, err := os.ReadFile("../../../../spec/vectors/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, found); err != nil {
			t.Fatal(err)
		}
	}
	var file struct{ Plan, ID string }
	read("channel-listed.json", &file)
	var known struct {
		Good []struct {
			List struct{ Name, Sha256 string }
			Text string
		}
	}
	read("lists.json", &known)
	texts := map[string][]byte{}
	for _, one := range known.Good {
		text, err := hex.DecodeString(one.Text)
		if err != nil {
			t.Fatal(err)
		}
		texts[one.List.Sha256] = text
	}
	var named struct {
		Schema []struct {
			Name   string
			Values any
		}
	}
	if err := json.Unmarshal([]byte(file.Plan), &named); err != nil {
		t.Fatal(err)
	}
	record, folder, asked := map[string]any{}, t.TempDir(), 0
	paths := []string{}
	for _, attribute := range named.Schema {
		list, ok := attribute.Values.(map[string]any)
		if !ok {
			record[attribute.Name] = attribute.Values.([]any)[0]
			continue
		}
		text := texts[list["sha256"].(string)]
		record[attribute.Name] = strings.SplitN(string(text), "\n", 2)[0]
		paths = append(paths, filepath.Join(folder, list["name"].(string)))
		if err := os.WriteFile(paths[len(paths)-1], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/lists/"):
			asked++
			if w.WriteHeader(200); other {
				io.WriteString(w, "another\n")
				return
			}
			w.Write(texts[strings.TrimPrefix(r.URL.Path, "/lists/")])
		case r.Method == http.MethodGet:
			io.WriteString(w, file.Plan)
		default:
			body, _ := io.ReadAll(r.Body)
			parsed, _ := hush.ParsePlan([]byte(file.Plan))
			report, _ := parsed.DecodeReport(body)
			w.WriteHeader(202)
			json.NewEncoder(w).Encode(map[string]any{"id": report.ID(), "new": true})
		}
	}))
	defer server.Close()
	plan := filepath.Join(folder, "plan.json")
	if err := os.WriteFile(plan, []byte(file.Plan), 0o600); err != nil {
		t.Fatal(err)
	}
	given, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	call := func(ledger string, arguments ...string) (int, string) {
		var out bytes.Buffer
		all := append([]string{"-collector", server.URL, "-ledger", filepath.Join(folder, ledger), "-timeout", "5s"}, arguments...)
		return run(append(all, "-"), bytes.NewReader(given), &out, &out), out.String()
	}
	if status, out := call("a", "-plan", plan); status != 1 || !strings.Contains(out, "is not here") {
		t.Error(status, out)
	}
	other = true
	if status, out := call("a", "-plan", file.ID); status != 1 || !strings.Contains(out, "another list") {
		t.Error(status, out)
	}
	other = false
	if status, out := call("a", "-plan", file.ID); status != 0 || asked != 1+len(paths) {
		t.Error(status, out, asked)
	}
	arguments := []string{"-plan", plan}
	for _, path := range paths {
		arguments = append(arguments, "-list", path)
	}
	if status, out := call("b", arguments...); status != 0 || asked != 1+len(paths) {
		t.Error(status, out, asked)
	}
}
