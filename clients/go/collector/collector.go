// Package collector speaks to a collector over HTTP, as spec/http.md describes it, and keeps reports in a ledger.
package collector

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hush.example/client/hush"
)

const (
	largestPlan   = 64 << 20
	largestList   = 1 << 28
	largestAnswer = 64 << 10
	onePatience   = 60 * time.Second // for one request
	firstPause    = time.Second
	longestPause  = time.Minute
)

// A Client speaks to a collector: an address that serves plans and takes reports.
type Client struct {
	address string
	token   string
	key     string // for which a report is sealed, on its way to a relay
	client  *http.Client
	pause   func(ctx context.Context, wait time.Duration) error
}

// A Receipt says that a report is durable. New is false if it was counted before.
type Receipt struct {
	ID  string `json:"id"`
	New bool   `json:"new"`
}

// A Refusal is an answer of the collector that sending again does not change.
type Refusal struct {
	Status int
	Kind   string // as bad-report or plan-closed; empty if the answer is no problem document
	Detail string
}

func (r *Refusal) Error() string {
	if r.Kind == "plan-closed" {
		return fmt.Sprintf("this survey has ended: its plan takes no more reports (%d)", r.Status)
	}
	return strings.TrimRight(fmt.Sprintf("the collector refuses: %d %s %s", r.Status, r.Kind, r.Detail), " ")
}

// New is a client of the collector at an address. The token may be empty; to another machine it goes by https:// only.
func New(address, token string) (*Client, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" ||
		parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, errors.New("the collector must be an address as https://reports.example.org")
	}
	if token != "" && parsed.Scheme == "http" && !isHere(parsed.Hostname()) {
		return nil, errors.New("a token goes to another machine by https:// only: others could read it on its way")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	client := &http.Client{
		Transport:     transport,
		Timeout:       onePatience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Client{strings.TrimRight(address, "/"), token, "", client, sleep}, nil
}

// isHere says whether a host name is this machine.
func isHere(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// Plan fetches a plan and the long lists that it names, and checks that its text has this id, that the lists are those of the
// plan, and that it is as private as it says.
func (c *Client) Plan(ctx context.Context, id string) (*hush.Plan, error) {
	if hash, err := hex.DecodeString(id); err != nil || len(hash) != sha256.Size || hex.EncodeToString(hash) != id {
		return nil, errors.New("a plan's id has 64 lower-case hexadecimal digits")
	}
	text, err := c.ask(ctx, http.MethodGet, "/plans/"+id, "", nil, http.StatusOK, largestPlan)
	if err != nil {
		return nil, fmt.Errorf("fetching the plan: %w", err)
	}
	if hash := sha256.Sum256(text); hex.EncodeToString(hash[:]) != id {
		return nil, errors.New("the collector sent a text that does not have the plan's id")
	}
	return c.parsed(ctx, text)
}

// parsed reads a plan, and fetches the long lists that it names and that were not added.
func (c *Client) parsed(ctx context.Context, text []byte) (*hush.Plan, error) {
	for {
		plan, err := hush.ParsePlan(text)
		var missing *hush.MissingList
		if !errors.As(err, &missing) {
			return plan, err
		}
		list, err := c.ask(ctx, http.MethodGet, "/lists/"+missing.SHA256, "", nil, http.StatusOK, largestList)
		if err != nil {
			return nil, fmt.Errorf("fetching the list %s: %w", missing.Name, err)
		}
		if hash := sha256.Sum256(list); hex.EncodeToString(hash[:]) != missing.SHA256 {
			return nil, fmt.Errorf("the collector sent another list than %s, which the plan names", missing.Name)
		}
		if _, err := hush.AddList(list); err != nil {
			return nil, err
		}
	}
}

// Send sends a report, again and again until the collector has answered or the context ends. All attempts have the same
// bytes, so the report is counted once.
func (c *Client) Send(ctx context.Context, plan *hush.Plan, report *hush.Report) (Receipt, error) {
	var receipt Receipt
	answer, err := c.ask(ctx, http.MethodPost, "/plans/"+plan.ID()+"/reports", "application/vnd.hush.report",
		report.Binary(), http.StatusAccepted, largestAnswer)
	if err != nil {
		return receipt, fmt.Errorf("sending the report: %w", err)
	}
	if err := json.Unmarshal(answer, &receipt); err != nil || receipt.ID != report.ID() {
		return receipt, errors.New("sending the report: the collector's answer is about something else")
	}
	return receipt, nil
}

// Answer fetches the plan, checks the record, draws a report or finds it in the ledger, and sends it. The context should
// have a deadline: until then an answer is waited for.
func (c *Client) Answer(ctx context.Context, id string, record hush.Record, ledger *Ledger) (Receipt, error) {
	plan, err := c.Plan(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	return c.AnswerPlan(ctx, plan, record, ledger)
}

// AnswerPlan does the same with a plan that the app has. The report is in the ledger before anything is asked of the network,
// so it is not lost without one: call it again, with whatever record, to send it.
func (c *Client) AnswerPlan(ctx context.Context, plan *hush.Plan, record hush.Record, ledger *Ledger) (Receipt, error) {
	report, err := drawn(plan, record, ledger)
	if err != nil {
		return Receipt{}, err
	}
	if sealed, err := ledger.sealed(plan); err != nil {
		return Receipt{}, err
	} else if sealed {
		return Receipt{}, errors.New("this report has gone to a relay, sealed: sent to the collector too, it would name itself")
	}
	receipt, err := c.Send(ctx, plan, report)
	return receipt, stays(err)
}

// drawn is the report to a plan: the one of the ledger, or one that is drawn from this record and is on disk then.
func drawn(plan *hush.Plan, record hush.Record, ledger *Ledger) (*hush.Report, error) {
	if err := plan.Check(record); err != nil {
		return nil, err
	}
	return ledger.Report(plan, func() (*hush.Report, error) { return hush.Randomise(plan, record) })
}

// stays says of a report that was not answered that nothing is lost.
func stays(err error) error {
	var refusal *Refusal
	if err == nil || errors.As(err, &refusal) && !again(refusal.Status) {
		return err
	}
	return fmt.Errorf("the report is kept in the ledger, to be sent again: %w", err)
}

// ask makes a request until it is answered.
func (c *Client) ask(ctx context.Context, method, path, kind string, body []byte, want int, most int64) ([]byte, error) {
	wait := firstPause
	for {
		answer, after, err := c.once(ctx, method, path, kind, body, want, most)
		var refusal *Refusal
		if err == nil || errors.As(err, &refusal) && !again(refusal.Status) {
			return answer, err
		}
		// Devices that failed together do not all come back together.
		pause := wait/2 + part(wait)
		if after > 0 {
			pause = after
		}
		if c.pause(ctx, pause) != nil {
			return nil, fmt.Errorf("no answer in time: %w", err)
		}
		if wait *= 2; wait > longestPause {
			wait = longestPause
		}
	}
}

// part is a random part of a time. Before Go 1.20, math/rand deals the same numbers on every device.
func part(whole time.Duration) time.Duration {
	var word [8]byte
	if _, err := rand.Read(word[:]); err != nil {
		return whole / 2 // drawing a report will say so
	}
	return time.Duration(binary.BigEndian.Uint64(word[:]) % uint64(whole))
}

// once makes a request. If it fails it also says how long the collector wants to be left alone.
func (c *Client) once(ctx context.Context, method, path, kind string, body []byte, want int, most int64) ([]byte, time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.key != "" {
		request.Header.Set("Hush-Key", c.key)
	}
	request.Header.Set("User-Agent", "") // sends none
	response, err := c.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return nil, 0, err
	}
	if response.StatusCode != want {
		return nil, retryAfter(response), refusal(response.StatusCode, answer)
	}
	if int64(len(answer)) > most {
		return nil, 0, &Refusal{Status: response.StatusCode, Detail: "its answer is too long"}
	}
	return answer, 0, nil
}

// again says whether the same request may be answered otherwise later.
func again(status int) bool {
	switch status {
	case 408, 425, 429, 500, 502, 503, 504:
		return true
	}
	return false
}

// retryAfter is the header in seconds, at most the longest pause: a collector cannot make a device wait for years. A date,
// which the specification does not have, is ignored.
func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31)
	if err != nil {
		return 0
	}
	if wait := time.Duration(seconds) * time.Second; wait < longestPause {
		return wait
	}
	return longestPause
}

// refusal reads a problem document. What it says is shown to people, so it keeps to printable text.
func refusal(status int, answer []byte) *Refusal {
	var problem struct{ Type, Title, Detail string }
	if json.Unmarshal(answer, &problem) != nil {
		return &Refusal{Status: status}
	}
	detail := problem.Detail
	if detail == "" {
		detail = problem.Title
	}
	return &Refusal{status, shown(strings.TrimPrefix(problem.Type, "urn:hush:problem:")), shown(detail)}
}

func shown(text string) string {
	quoted := strconv.Quote(text)
	if quoted = quoted[1 : len(quoted)-1]; len(quoted) > 500 {
		quoted = quoted[:500] + "..."
	}
	return quoted
}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
