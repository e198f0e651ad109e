package trace

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestSpansAreDocumented compares kube/observability/traces.md with the code.
func TestSpansAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../kube/observability/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds() {
		attributes := "none"
		if len(k.Attributes) > 0 {
			attributes = "`" + strings.Join(k.Attributes, "`, `") + "`"
		}
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", k.Name, k.Means, attributes); !strings.Contains(string(text), row) {
			t.Errorf("traces.md lacks the row\n%s", row)
		}
	}
	if rows := strings.Count(string(text), "\n| `node"); rows != len(Kinds()) {
		t.Errorf("traces.md has %d rows, want %d", rows, len(Kinds()))
	}
}

// TestTraceIDsFromShell: with the commands of traces.md, of which these are the
// answers.
func TestTraceIDsFromShell(t *testing.T) {
	revision, claim := OfRevision("1f2c", "main@sha1:4d5e"), OfClaim("1f2c")
	for got, want := range map[string]string{
		hex.EncodeToString(revision.Trace[:]): "7cb4460869dc9bd742ca7fd71a53d74e",
		hex.EncodeToString(claim.Trace[:]):    "e38cf3d24deb05c9ee5d48434df45a11",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if revision.First != [8]byte{} || claim.First == [8]byte{} {
		t.Errorf("first spans: %x, %x", revision.First, claim.First)
	}
	if OfRevision("1f2c", "main@sha1:4d5f").Trace == revision.Trace || OfRevision("1f2d", "main@sha1:4d5e") == revision {
		t.Error("two revisions have one trace")
	}
}

// TestStepsAreCollected, with what is done in them, as long as each took, and no secret.
func TestStepsAreCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, work := Begin(t.Context(), Reconcile)
		inner, done := Step(ctx, Plan)
		time.Sleep(time.Second)
		_, judged := Step(inner, Judge, Attribute{Object, "about hunter22"})
		Hide(inner, []string{"hunter22"})
		time.Sleep(time.Second)
		judged(errors.New("no answer to hunter22"))
		done(nil, Attribute{Outcome, 3})
		_, _ = Step(ctx, Apply) // does not end
		got := work.End(errors.New(strings.Repeat("long ", 1000)), Attribute{Reason, "Failed"})
		if len(got.Error) > maxText || got.Error == "" {
			t.Errorf("the error has %d bytes", len(got.Error))
		}
		want := Span{
			Name: Reconcile, From: began, To: began.Add(2 * time.Second), Attributes: []Attribute{{Reason, "Failed"}},
			Children: []Span{{
				Name: Plan, From: began, To: began.Add(2 * time.Second), Attributes: []Attribute{{Outcome, 3}},
				Children: []Span{{
					Name: Judge, From: began.Add(time.Second), To: began.Add(2 * time.Second), Error: "no answer to ***",
					Attributes: []Attribute{{Object, "about ***"}},
				}},
			}},
		}
		got.Error = ""
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("want -, got +\n%s", diff)
		}
	})
}

// TestStepWithoutWorkDoesNothing: nothing is kept, and no memory is taken.
func TestStepWithoutWorkDoesNothing(t *testing.T) {
	ctx := context.Background()
	took := testing.AllocsPerRun(100, func() {
		inner, done := Step(ctx, Plan)
		Hide(inner, nil)
		done(nil)
	})
	if took > 0 {
		t.Errorf("%v allocations", took)
	}
}

// TestStepsAreLimited, and the trace says how many.
func TestStepsAreLimited(t *testing.T) {
	ctx, work := Begin(t.Context(), Reconcile)
	for range mostSteps + 7 {
		_, done := Step(ctx, ApplyObject)
		done(nil)
	}
	got := work.End(nil)
	if diff := cmp.Diff([]Attribute{{LeftOut, 7}}, got.Attributes); len(got.Children) != mostSteps || diff != "" {
		t.Errorf("%d steps; %s", len(got.Children), diff)
	}
}
