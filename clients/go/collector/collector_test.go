package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hush.example/client/hush"
)

const vectors = "../../../spec/vectors"

// planText is the text of a plan among the vectors, and its id.
func planText(t *testing.T, name string) (text, id string) {
	t.Helper()
	var file struct{ Plan, ID string }
	data, err := os.ReadFile(filepath.Join(vectors, name))
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Plan, file.ID
}

var record = hush.Record{"two": "yes", "ten": 7, "many": 27}

// server is a collector that may misbehave.
type server struct {
	*httptest.Server
	text   string
	bodies [][]byte
	kinds  []string
	pauses []time.Duration
	// misbehave answers a request in another way, if it returns true. It gets the number of reports so far.
	misbehave func(n int, w http.ResponseWriter) bool
}

func start(t *testing.T) (*server, *Client, string) {
	t.Helper()
	text, id := planText(t, "channel-grr.json")
	s := &server{text: text}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	c, err := New(s.URL+"/", "secret")
	if err != nil {
		t.Fatal(err)
	}
	c.pause = func(ctx context.Context, wait time.Duration) error {
		s.pauses = append(s.pauses, wait)
		return ctx.Err()
	}
	return s, c, id
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodPost {
		s.bodies = append(s.bodies, body)
	}
	s.kinds = append(s.kinds, r.Method+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Authorization"))
	if s.misbehave != nil && s.misbehave(len(s.bodies), w) {
		return
	}
	plan, _ := hush.ParsePlan([]byte(s.text))
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/plans/"+plan.ID():
		io.WriteString(w, s.text)
	case r.Method == http.MethodPost && r.URL.Path == "/plans/"+plan.ID()+"/reports":
		report, err := plan.DecodeReport(body)
		if err != nil {
			problem(w, 422, "bad-report", err.Error())
			return
		}
		seen := 0
		for _, other := range s.bodies {
			if bytes.Equal(other, body) {
				seen++
			}
		}
		w.WriteHeader(202)
		json.NewEncoder(w).Encode(map[string]any{"id": report.ID(), "new": seen == 1, "reports": 1})
	default:
		problem(w, 404, "not-found", "no such plan")
	}
}

func problem(w http.ResponseWriter, status int, kind, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"type": "urn:hush:problem:" + kind, "title": kind, "status": status, "detail": detail})
}

func newLedger(t *testing.T, cap string) *Ledger {
	t.Helper()
	ledger, err := OpenLedger(filepath.Join(t.TempDir(), "ledger.json"), cap)
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

func TestAnswer(t *testing.T) {
	s, c, id := start(t)
	ledger := newLedger(t, "1")
	first, err := c.Answer(context.Background(), id, record, ledger)
	if err != nil || !first.New {
		t.Fatal(first, err)
	}
	// Another answer to the same question gives the same report.
	second, err := c.Answer(context.Background(), id, hush.Record{"two": "no", "ten": 1, "many": 1}, ledger)
	if err != nil || second.New || second.ID != first.ID {
		t.Fatal(second, err)
	}
	if len(s.bodies) != 2 || !bytes.Equal(s.bodies[0], s.bodies[1]) {
		t.Error("the reports differ")
	}
	if s.kinds[0] != "GET  Bearer secret" || s.kinds[1] != "POST application/vnd.hush.report Bearer secret" {
		t.Error(s.kinds)
	}
	if _, err := c.Answer(context.Background(), id, hush.Record{"two": "maybe"}, ledger); err == nil || len(s.bodies) != 2 {
		t.Error("a bad record was taken")
	}
}

func TestSameBytesUntilItIsCounted(t *testing.T) {
	s, c, id := start(t)
	statuses := []int{408, 425, 429, 500, 502, 503, 504}
	s.misbehave = func(n int, w http.ResponseWriter) bool {
		switch {
		case n == 0: // the plan
			return false
		case n <= len(statuses):
			if statuses[n-1] == 503 {
				w.Header().Set("Retry-After", "7")
			}
			problem(w, statuses[n-1], "busy", "later")
			return true
		case n == len(statuses)+1: // it was counted, but the answer is lost
			connection, _, _ := w.(http.Hijacker).Hijack()
			connection.Close()
			return true
		}
		return false
	}
	receipt, err := c.Answer(context.Background(), id, record, newLedger(t, "1"))
	if err != nil || receipt.New {
		t.Fatal(receipt, err)
	}
	if len(s.bodies) != len(statuses)+2 {
		t.Errorf("%d attempts", len(s.bodies))
	}
	for _, body := range s.bodies {
		if !bytes.Equal(body, s.bodies[0]) {
			t.Error("an attempt has other bytes")
		}
	}
	if s.pauses[5] != 7*time.Second {
		t.Errorf("Retry-After was not respected: %v", s.pauses)
	}
	if s.pauses[4] < 8*time.Second || s.pauses[0] > 2*time.Second {
		t.Errorf("pauses do not double: %v", s.pauses)
	}
}

func TestRefusalsAreFinal(t *testing.T) {
	for _, status := range []int{301, 307, 400, 401, 403, 404, 409, 413, 415, 422, 431, 200} {
		s, c, id := start(t)
		s.misbehave = func(n int, w http.ResponseWriter) bool {
			if n == 0 {
				return false
			}
			w.Header().Set("Location", s.URL+"/elsewhere")
			problem(w, status, "some-kind", "bell \a")
			return true
		}
		_, err := c.Answer(context.Background(), id, record, newLedger(t, "1"))
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Status != status || refusal.Kind != "some-kind" || len(s.bodies) != 1 {
			t.Errorf("%d: %v after %d attempts", status, err, len(s.bodies))
		}
		if err != nil && strings.Contains(err.Error(), "\a") {
			t.Error("the terminal rings")
		}
	}
}

func TestDeadline(t *testing.T) {
	s, c, id := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	s.misbehave = func(n int, w http.ResponseWriter) bool {
		if n == 3 {
			cancel()
		}
		if n > 0 {
			w.WriteHeader(503)
		}
		return n > 0
	}
	ledger := newLedger(t, "1")
	if _, err := c.Answer(ctx, id, record, ledger); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Error(err)
	}
	// The report was kept, and is sent next time.
	s.misbehave = nil
	if _, err := c.Answer(context.Background(), id, record, ledger); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.bodies[0], s.bodies[len(s.bodies)-1]) {
		t.Error("another report was sent")
	}
}

func TestFalsePlans(t *testing.T) {
	s, c, id := start(t)
	ledger := newLedger(t, "16")
	for name, text := range map[string]string{
		"another plan": func() string { text, _ := planText(t, "channel-oue.json"); return text }(),
		"white space":  s.text + "\n",
		"nothing":      "",
	} {
		s.misbehave = func(_ int, w http.ResponseWriter) bool {
			io.WriteString(w, text)
			return true
		}
		if _, err := c.Answer(context.Background(), id, record, ledger); err == nil || len(s.bodies) != 0 {
			t.Errorf("%s was taken", name)
		}
	}
	for _, id := range []string{"", strings.ToUpper(id), id[:62], "../" + id[3:]} {
		if _, err := c.Plan(context.Background(), id); err == nil {
			t.Errorf("the id %q was taken", id)
		}
	}
	if _, err := os.Stat(ledger.path); err == nil {
		t.Error("there is a ledger already")
	}
}

func TestReceiptOfAnother(t *testing.T) {
	s, c, id := start(t)
	s.misbehave = func(n int, w http.ResponseWriter) bool {
		if n == 0 {
			return false
		}
		w.WriteHeader(202)
		io.WriteString(w, `{"id":"00000000000000000000000000000000","new":true,"reports":1}`)
		return true
	}
	if _, err := c.Answer(context.Background(), id, record, newLedger(t, "1")); err == nil {
		t.Error("it was taken")
	}
}

func TestAddresses(t *testing.T) {
	for address, good := range map[string]bool{
		"https://reports.example.org": true, "http://127.0.0.1:8000/": true, "https://example.org/under/": true,
		"": false, "reports.example.org": false, "ftp://example.org": false, "https://": false,
		"https://me:secret@example.org": false, "https://example.org/?a=b": false, "https://example.org/#a": false,
	} {
		if _, err := New(address, ""); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestATokenGoesToAnotherMachineByHTTPSOnly(t *testing.T) {
	for address, good := range map[string]bool{
		"https://reports.example.org": true, "http://127.0.0.1:8000/": true, "http://127.1.2.3": true, "http://[::1]:80": true,
		"http://localhost": true, "http://reports.example.org": false, "http://10.0.0.1": false, "http://localhost.example": false,
		"http://127.0.0.1.example": false, "http://[::2]": false,
	} {
		if _, err := New(address, "secret"); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := New(address, ""); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestLedgerFile(t *testing.T) {
	text, _ := planText(t, "channel-grr.json")
	plan, err := hush.ParsePlan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	draw := func() (*hush.Report, error) { return hush.Randomise(plan, record) }
	ledger := newLedger(t, "1")
	report, err := ledger.Report(plan, draw)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(ledger.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	entries, _ := os.ReadDir(filepath.Dir(ledger.path))
	if len(entries) != 2 { // the ledger and its lock
		t.Error(entries)
	}
	again, err := (&Ledger{ledger.path, ledger.cap}).Report(plan, func() (*hush.Report, error) {
		return nil, errors.New("drawn again")
	})
	if err != nil || again.ID() != report.ID() {
		t.Error(err)
	}
	content, _ := os.ReadFile(ledger.path)
	for name, damaged := range map[string][]byte{
		"empty":   {},
		"cut":     content[:len(content)/2],
		"newer":   bytes.Replace(content, []byte(`"hush": 1`), []byte(`"hush": 2`), 1),
		"another": bytes.Replace(content, []byte(`"report": "02`), []byte(`"report": "03`), 1),
	} {
		if err := os.WriteFile(ledger.path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Report(plan, draw); err == nil {
			t.Errorf("%s: it was taken", name)
		}
		if left, _ := os.ReadFile(ledger.path); !bytes.Equal(left, damaged) {
			t.Errorf("%s: it was written over", name)
		}
	}
}

func TestCap(t *testing.T) {
	ledger := newLedger(t, "1.5")
	for i, name := range []string{"channel-grr.json", "channel-oue.json"} { // 1.0 each
		text, _ := planText(t, name)
		plan, err := hush.ParsePlan([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = ledger.Report(plan, func() (*hush.Report, error) { return hush.Randomise(plan, record) })
		if (err == nil) != (i == 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, cap := range []string{"", "0", "-1", "much"} {
		if _, err := OpenLedger("x", cap); err == nil {
			t.Errorf("the cap %q was taken", cap)
		}
	}
}

// following is a plan, and one that follows it.
func following(t *testing.T) (*hush.Plan, *hush.Plan) {
	t.Helper()
	text, id := planText(t, "channel-grr.json")
	var plans []*hush.Plan
	for _, text := range []string{text, strings.Replace(text, `"after":null`, `"after":"`+id+`"`, 1)} {
		plan, err := hush.ParsePlan([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, plan)
	}
	if plans[0].After() != "" || plans[1].After() != id {
		t.Fatal("the second plan must follow the first")
	}
	return plans[0], plans[1]
}

func TestOneOfAPlanAndAFollowingOne(t *testing.T) {
	pilot, main := following(t)
	for _, order := range [][2]*hush.Plan{{pilot, main}, {main, pilot}} {
		path := newLedger(t, "16").path
		for i, plan := range []*hush.Plan{order[0], order[1], order[0]} {
			ledger, _ := OpenLedger(path, "16")
			drawn := false
			_, err := ledger.Report(plan, func() (*hush.Report, error) {
				drawn = true
				return hush.Randomise(plan, record)
			})
			if i == 1 && (err == nil || !strings.Contains(err.Error(), "belongs to this one")) || i != 1 && err != nil {
				t.Errorf("answer %d: %v", i, err)
			}
			if drawn != (i == 0) {
				t.Errorf("answer %d: a report was drawn: %v", i, drawn)
			}
		}
	}
}

// Locks belong to open files, so goroutines exclude each other as processes do.
func TestTwoAtOnce(t *testing.T) {
	text, _ := planText(t, "channel-grr.json")
	plan, err := hush.ParsePlan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	path := newLedger(t, "1").path
	var group sync.WaitGroup
	var guard sync.Mutex
	ids, drawn := map[string]bool{}, 0
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			ledger, _ := OpenLedger(path, "1")
			report, err := ledger.Report(plan, func() (*hush.Report, error) {
				guard.Lock()
				drawn++
				guard.Unlock()
				time.Sleep(50 * time.Millisecond) // so that the others come meanwhile
				return hush.Randomise(plan, record)
			})
			if err != nil {
				t.Error(err)
				return
			}
			guard.Lock()
			ids[report.ID()] = true
			guard.Unlock()
		}()
	}
	group.Wait()
	if len(ids) != 1 || drawn != 1 {
		t.Errorf("%d reports, drawn %d times", len(ids), drawn)
	}
}

// pausesOf has the pauses of a device whose collector fails a few times, with a header if it is not empty.
func pausesOf(t *testing.T, after string) []time.Duration {
	t.Helper()
	s, c, id := start(t)
	failures := 0
	s.misbehave = func(_ int, w http.ResponseWriter) bool {
		if failures++; failures > 5 {
			return false
		}
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		problem(w, 503, "busy", "later")
		return true
	}
	if _, err := c.Plan(context.Background(), id); err != nil || len(s.pauses) != 5 {
		t.Fatal(s.pauses, err)
	}
	return s.pauses
}

func TestACollectorMayAskForAMinuteAtMost(t *testing.T) {
	for after, want := range map[string]time.Duration{"59": 59 * time.Second, "60": time.Minute, "61": time.Minute, "2147483647": time.Minute} {
		for _, pause := range pausesOf(t, after) {
			if pause != want {
				t.Errorf("after %s seconds: %v", after, pause)
			}
		}
	}
	for _, after := range []string{"0", "-1", "1e9", "soon", "99999999999999999999"} {
		if pause := pausesOf(t, after)[0]; pause < firstPause/2 || pause > 2*firstPause {
			t.Errorf("after %s: %v", after, pause)
		}
	}
}

func TestDevicesDoNotPauseAlike(t *testing.T) {
	rand.Seed(1) // as it is in every process, before Go 1.20
	one := pausesOf(t, "")
	rand.Seed(1)
	if other := pausesOf(t, ""); fmt.Sprint(one) == fmt.Sprint(other) {
		t.Errorf("two devices that failed together come back together: %v", one)
	}
	for i, pause := range one {
		if wait := firstPause << i; pause < wait/2 || pause >= wait*3/2 {
			t.Errorf("pause %d: %v", i, pause)
		}
	}
}
