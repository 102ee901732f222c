package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"strings"
	"testing"
	"time"

	"hush.example/client/hush"
)

// Two points of X25519 that are keys, though nobody here has their secrets.
var keys = [2]string{"3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d", "09" + strings.Repeat("00", 31)}

// relayServer is a relay that answers as it is told, and remembers what has come.
type relayServer struct {
	text    string
	keys    []string
	bodies  [][]byte
	answers []func(w http.ResponseWriter)
}

func (s *relayServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		io.WriteString(w, s.text)
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.keys, s.bodies = append(s.keys, r.Header.Get("Hush-Key")), append(s.bodies, body)
	if r.Header.Get("Content-Type") != "application/octet-stream" || r.Header.Get("Authorization") != "" {
		problem(w, 415, "wrong-type", "")
		return
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	answer(w)
}

func held(fresh int) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(202)
		json.NewEncoder(w).Encode(map[string]any{"reports": 1, "new": fresh})
	}
}

func lost(w http.ResponseWriter) {
	connection, _, _ := w.(http.Hijacker).Hijack()
	connection.Close()
}

func refusing(status int, kind string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) { problem(w, status, kind, "no") }
}

// relayed starts a relay, and returns a plan and how to reach the relay for a key, with one attempt.
func relayed(t *testing.T, answers ...func(w http.ResponseWriter)) (*relayServer, *hush.Plan, func(key string) *Relay) {
	t.Helper()
	text, _ := planText(t, "channel-grr.json")
	s := &relayServer{text: text, answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	plan, err := hush.ParsePlan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s, plan, func(key string) *Relay {
		relay, err := NewRelay(server.URL, key)
		if err != nil {
			t.Fatal(err)
		}
		relay.client.pause = func(context.Context, time.Duration) error { return errors.New("no patience") }
		return relay
	}
}

// tries sends a report four times: an answer is lost, the key changes, the relay has another, and then holds it.
func tries(t *testing.T, between func(*Ledger, *hush.Plan)) (s *relayServer, outcomes []string) {
	s, plan, relay := relayed(t, lost, refusing(409, "other-key"), held(1), held(1))
	ledger := newLedger(t, "1")
	for _, key := range []string{keys[0], keys[1], keys[1], keys[1]} {
		receipt, err := relay(key).AnswerPlan(context.Background(), plan, record, ledger)
		outcome := map[bool]string{true: "new", false: "before"}[receipt.New]
		if err != nil {
			outcome = err.Error()
		}
		outcomes = append(outcomes, outcome)
		between(ledger, plan)
	}
	return s, outcomes
}

func TestAReportLeavesSealedOnce(t *testing.T) {
	s, outcomes := tries(t, func(*Ledger, *hush.Plan) {})
	if len(s.bodies) != 3 {
		t.Fatalf("%d requests: what a relay holds is not sent again", len(s.bodies))
	}
	for i, body := range s.bodies {
		if !bytes.Equal(body, s.bodies[0]) || s.keys[i] != keys[0] {
			t.Error("other bytes, or under the name of another key")
		}
	}
	if !strings.Contains(outcomes[0], "is kept in the ledger") || !strings.Contains(outcomes[1], "not delivered, and is not sealed again") ||
		outcomes[2] != "new" || outcomes[3] != "before" {
		t.Error(outcomes)
	}
}

// The twin seals anew: its ledger forgets what was sealed.
func TestALedgerThatSealsAnewIsCaught(t *testing.T) {
	s, _ := tries(t, func(ledger *Ledger, plan *hush.Plan) {
		ledger.change(func(content *kept) error {
			known := content.Answers[plan.ID()]
			known.Sealed, known.Held = "", false
			content.Answers[plan.ID()] = known
			return nil
		})
	})
	if len(s.bodies) != 4 || bytes.Equal(s.bodies[0], s.bodies[1]) || s.keys[1] != keys[1] {
		t.Error("the twin does not seal anew")
	}
}

func TestTheSealedBytesAreOnDiskBeforeTheyLeave(t *testing.T) {
	path := ""
	s, plan, relay := relayed(t, func(w http.ResponseWriter) {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(`"sealed": "`)) || !bytes.Contains(text, []byte(keys[0])) {
			t.Error("they are not")
		}
		held(1)(w)
	})
	ledger := newLedger(t, "1")
	path = ledger.path
	if receipt, err := relay(keys[0]).Answer(context.Background(), plan.ID(), record, ledger); err != nil || !receipt.New {
		t.Fatal(receipt, err)
	}
	if len(s.bodies) != 1 {
		t.Error(len(s.bodies))
	}
}

func TestWhatMayHaveLeftSealedIsNotSentToTheCollector(t *testing.T) {
	for _, answer := range []func(w http.ResponseWriter){lost, held(1)} {
		_, plan, relay := relayed(t, answer)
		collector, client, _ := start(t)
		ledger := newLedger(t, "1")
		relay(keys[0]).AnswerPlan(context.Background(), plan, record, ledger)
		if _, err := client.AnswerPlan(context.Background(), plan, record, ledger); err == nil || !strings.Contains(err.Error(), "would name itself") {
			t.Error(err)
		}
		if len(collector.bodies) != 0 {
			t.Error("it has left")
		}
	}
}

func TestRefusalsOfARelay(t *testing.T) {
	for status, kind := range map[int]string{409: "plan-closed", 507: "full", 400: "bad-request"} {
		_, plan, relay := relayed(t, refusing(status, kind))
		_, err := relay(keys[0]).AnswerPlan(context.Background(), plan, record, newLedger(t, "1"))
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Kind != kind {
			t.Error(err)
		}
		if ended := strings.Contains(err.Error(), "this survey has ended"); ended != (kind == "plan-closed") {
			t.Error(err)
		}
	}
	for _, wrong := range []string{`{}`, `{"reports": 2, "new": 1}`, `{"reports": 1}`, `[`} {
		_, plan, relay := relayed(t, func(w http.ResponseWriter) { w.WriteHeader(202); io.WriteString(w, wrong) })
		if _, err := relay(keys[0]).AnswerPlan(context.Background(), plan, record, newLedger(t, "1")); err == nil {
			t.Error(wrong)
		}
	}
	for _, key := range []string{"", "12", strings.ToUpper(keys[0]), strings.Repeat("0", 64)} {
		if _, err := NewRelay("https://relay.example.net", key); err == nil {
			t.Error(key)
		}
	}
	if _, err := NewRelay("relay", keys[0]); err == nil {
		t.Error("an address that is none")
	}
}

// offline answers without a network, by some means, and returns what the ledger has when the network is first asked.
func offline(t *testing.T, act func(*Client, *hush.Plan, *Ledger) error) (kept bool) {
	t.Helper()
	text, _ := planText(t, "channel-grr.json")
	plan, err := hush.ParsePlan([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ledger := newLedger(t, "1")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		content, err := ledger.read()
		kept = err == nil && content.Answers[plan.ID()].Report != ""
		lost(w)
	}))
	defer server.Close()
	client, err := New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	client.pause = func(context.Context, time.Duration) error { return errors.New("no patience") }
	if err := act(client, plan, ledger); err == nil {
		t.Error("there is no network")
	}
	return kept
}

func TestAReportIsKeptBeforeAnyNetwork(t *testing.T) {
	if !offline(t, func(c *Client, plan *hush.Plan, ledger *Ledger) error {
		_, err := c.AnswerPlan(context.Background(), plan, record, ledger)
		if err != nil && !strings.Contains(err.Error(), "the report is kept in the ledger") {
			t.Error(err)
		}
		return err
	}) {
		t.Error("the answer is lost without a network")
	}
	// The twin fetches the plan first.
	if offline(t, func(c *Client, plan *hush.Plan, ledger *Ledger) error {
		_, err := c.Answer(context.Background(), plan.ID(), record, ledger)
		return err
	}) {
		t.Error("the test does not notice who asks the network first")
	}
}
