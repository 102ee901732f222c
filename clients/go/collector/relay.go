package collector

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"hush.example/client/hush"
)

// A Relay stands between a device and a collector: it mixes sealed reports, and cannot read them.
//
// A report is sealed once. The sealed bytes are in the ledger before they leave. The device sends these and no others, also
// after the key has changed, and nothing more once the relay has confirmed that it holds them. A report that is sealed twice
// would be in two batches, and the collector would see its id in both: it could tell whose report it is.
type Relay struct {
	client *Client
	key    string
}

// NewRelay is the relay at an address, for reports that are sealed for the owner of a key (64 hexadecimal digits). Both are
// built into the app, beside the plan's id: take neither from the network.
func NewRelay(address, key string) (*Relay, error) {
	client, err := New(address, "")
	if err != nil {
		return nil, errors.New("the relay must be an address as https://relay.example.net")
	}
	if err := hush.CheckKey(key); err != nil {
		return nil, err
	}
	return &Relay{client, key}, nil
}

// Answer fetches the plan from the relay, and does the rest as AnswerPlan.
func (r *Relay) Answer(ctx context.Context, id string, record hush.Record, ledger *Ledger) (Receipt, error) {
	plan, err := r.client.Plan(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	return r.AnswerPlan(ctx, plan, record, ledger)
}

// AnswerPlan draws a report or finds it in the ledger, seals it or finds its sealed bytes there, and sends these until the
// relay holds them.
func (r *Relay) AnswerPlan(ctx context.Context, plan *hush.Plan, record hush.Record, ledger *Ledger) (Receipt, error) {
	report, err := drawn(plan, record, ledger)
	if err != nil {
		return Receipt{}, err
	}
	known, err := ledger.seal(plan, report, r.key)
	if err != nil {
		return Receipt{}, err
	}
	if known.Held {
		return Receipt{ID: report.ID()}, nil
	}
	body, err := hex.DecodeString(known.Sealed)
	if err != nil {
		return Receipt{}, errors.New("ledger: its sealed report for this plan cannot be read, and is left as it is")
	}
	through := *r.client
	through.key = known.Key
	answer, err := through.ask(ctx, http.MethodPost, "/sealed/"+plan.ID(), "application/octet-stream", body, http.StatusAccepted, largestAnswer)
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Kind == "other-key" {
		return Receipt{}, fmt.Errorf("the report is sealed for another key than the relay's: it was not delivered, and is not sealed again: %w", err)
	}
	if err != nil {
		return Receipt{}, stays(fmt.Errorf("sending the report: %w", err))
	}
	var held struct{ Reports, New *int }
	if err := json.Unmarshal(answer, &held); err != nil || held.Reports == nil || held.New == nil || *held.Reports != 1 {
		return Receipt{}, errors.New("sending the report: the relay's answer is about something else")
	}
	return Receipt{report.ID(), *held.New == 1}, ledger.hold(plan)
}

// seal is the ledger's answer to a plan with its sealed bytes: those of before, whatever the key is now, or new ones, which are
// on disk when this returns.
func (l *Ledger) seal(plan *hush.Plan, report *hush.Report, key string) (found entry, err error) {
	err = l.change(func(content *kept) error {
		found = content.Answers[plan.ID()]
		if found.Sealed != "" {
			return nil
		}
		body, err := report.Seal(key)
		if err != nil {
			return err
		}
		found.Sealed, found.Key = hex.EncodeToString(body), key
		content.Answers[plan.ID()] = found
		return nil
	})
	return found, err
}

// hold notes that a relay holds the report to a plan.
func (l *Ledger) hold(plan *hush.Plan) error {
	return l.change(func(content *kept) error {
		found := content.Answers[plan.ID()]
		found.Held = true
		content.Answers[plan.ID()] = found
		return nil
	})
}

// sealed says whether the report to a plan was sealed: then it may have left.
func (l *Ledger) sealed(plan *hush.Plan) (bool, error) {
	found := false
	err := l.look(func(content *kept) error {
		found = content.Answers[plan.ID()].Sealed != ""
		return nil
	})
	return found, err
}
