package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Class is what an error means for the caller.
type Class string

// The classes of errors.
const (
	// ClassNone: no error.
	ClassNone Class = ""
	// ClassValidation: the request itself is wrong; repeating it is useless.
	ClassValidation Class = "validation"
	// ClassLabelTaken: a Linode of the account has the label already.
	ClassLabelTaken Class = "label-taken"
	// ClassNoCapacity: the plan is out of stock in the region.
	ClassNoCapacity Class = "no-capacity"
	// ClassAccountLimit: the account has reached a limit.
	ClassAccountLimit Class = "account-limit"
	// ClassPlanClosed: the account cannot have Linodes of the plan in any region until Support grants access.
	ClassPlanClosed Class = "plan-closed"
	// ClassLocked: the object cannot be deleted until it is unlocked.
	ClassLocked Class = "locked"
	// ClassBusy: nothing was done; the same request may succeed later.
	ClassBusy Class = "busy"
	// ClassAuth: the token is wrong, expired or lacks a scope, or the role of its user does not allow the call.
	ClassAuth Class = "auth"
	// ClassNotFound: the object does not exist.
	ClassNotFound Class = "not-found"
	// ClassUnknown: it is unknown whether the request was carried out, because no answer
	// came or because the server failed.
	ClassUnknown Class = "unknown"
)

// Error is an answer of the API that is not success.
type Error struct {
	Status  int
	Reasons []Reason

	MissingScope string   // the scope that the token lacks; "" if that is not the error
	Scopes       []string // what it has instead
}

// Reason is one entry of an error answer.
type Reason struct {
	Reason string `json:"reason"`
	Field  string `json:"field"`
}

// labelTaken: "Label must be unique among your linodes". The text is similar for other objects, such as firewalls.
func (r Reason) labelTaken() bool {
	text := strings.ToLower(r.Reason)
	return r.Field == "label" && strings.Contains(text, "must be unique") && strings.Contains(text, "linodes")
}

func (e *Error) Error() string {
	if len(e.Reasons) == 0 {
		return fmt.Sprintf("the Linode API answered %d %s", e.Status, http.StatusText(e.Status))
	}
	parts := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		parts[i] = r.Reason
		if r.Field != "" {
			parts[i] = r.Field + ": " + r.Reason
		}
	}
	text := fmt.Sprintf("the Linode API answered %d: %s", e.Status, strings.Join(parts, "; "))
	if e.MissingScope != "" {
		text += fmt.Sprintf(" (the token lacks %s; it has %s)", e.MissingScope, strings.Join(e.Scopes, " "))
	}
	return text
}

// ClassOf returns what err means. Without an answer it is ClassUnknown: the request
// may have been carried out.
func ClassOf(err error) Class {
	if err == nil {
		return ClassNone
	}
	if _, ok := errors.AsType[*notSentError](err); ok {
		return ClassBusy
	}
	answer, ok := errors.AsType[*Error](err)
	if !ok {
		return ClassUnknown
	}
	switch s := answer.Status; {
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return ClassAuth
	case s == http.StatusNotFound:
		return ClassNotFound
	case s == http.StatusTooManyRequests, s == http.StatusRequestTimeout:
		return ClassBusy
	case s >= 500:
		return ClassUnknown
	}
	return classOfReasons(answer.Reasons)
}

// RefusesField reports whether the API refused a request only because of the value of that field.
func RefusesField(err error, field string) bool {
	answer, ok := errors.AsType[*Error](err)
	if !ok || answer.Status != http.StatusBadRequest || len(answer.Reasons) == 0 {
		return false
	}
	for _, r := range answer.Reasons {
		if r.Field != field {
			return false
		}
	}
	return true
}

// accountLimit is how Cloud Manager recognizes a limit of the account.
var accountLimit = regexp.MustCompile(`(limit|limit for the number of active services) on your account`)

// noStock reports whether a text says that a plan is out of stock.
func noStock(text string) bool {
	return strings.Contains(text, "capacity") || strings.Contains(text, "no open "+
		"slots") || strings.Contains(text, "sold out") ||
		unavailable.MatchString(text)
}

var unavailable = regexp.MustCompile(`\b(plan|type)\b.*\b(not available|unavailable|out of stock)\b`)

// closedPlan is part of the answer for a plan that is closed to the account.
const closedPlan = "preventing the deployment of the selected linode plan"

// classOfReasons classifies a 400. A reason with a field is about the request, regardless of its text: treating it
// as a lack of capacity would block a plan because of a bad tag. The exception is the field type, which is
// the plan itself: no NodePool can fix that a plan is unavailable.
//
// Unverified: the texts for capacity, which are those of older API answers, and that for locks.
func classOfReasons(reasons []Reason) Class {
	if len(reasons) == 1 && reasons[0].labelTaken() {
		return ClassLabelTaken
	}
	class := ClassValidation
	for _, r := range reasons {
		text := strings.ToLower(r.Reason)
		if r.Field != "" && !(r.Field == "type" && (noStock(text) || strings.Contains(text, closedPlan))) {
			return ClassValidation
		}
		switch {
		case strings.Contains(text, "linode busy"):
			class = ClassBusy
		case strings.Contains(text, closedPlan):
			class = ClassPlanClosed
		case strings.Contains(text, "is locked"):
			class = ClassLocked
		case accountLimit.MatchString(text), strings.Contains(text, "account limit"), strings.Contains(text, "limit reached"):
			class = ClassAccountLimit
		case noStock(text):
			class = ClassNoCapacity
		}
	}
	return class
}

// Allow says how to fix an error of class Auth: "a token with the scope SCOPE", and after a 403 also the role
// that its user needs. Since 2026-03-31 roles apply in addition to the scopes of tokens.
func Allow(err error, scope string) string { return "a token with the scope " + scope + roleName(err) }

func roleName(err error) string {
	if answer, ok := errors.AsType[*Error](err); ok && answer.Status == http.StatusForbidden {
		return ", of a user whose role allows it (Cloud Manager, Identity & Access)"
	}
	return ""
}

// notSentError is an error that occurred before anything was sent.
type notSentError struct{ err error }

func (e *notSentError) Error() string { return e.err.Error() }
func (e *notSentError) Unwrap() error { return e.err }

// Explain adds to an error of the first calls at start-up what to do. It returns err itself if there is nothing to add.
func Explain(err error, baseURL string) error {
	baseURL = cmp.Or(baseURL, DefaultURL)
	switch class := ClassOf(err); {
	case class == ClassAuth:
		return fmt.Errorf("the Linode API at %s refuses the token: %w; check LINODE_TOKEN: it needs the scope %s%s",
			baseURL, err, ScopePools, roleName(err))
	case class == ClassUnknown && errors.Is(err, context.Canceled):
		return err
	case class == ClassUnknown:
		return fmt.Errorf("the Linode API at %s does not respond correctly: %w; check LINODE_URL and the network",
			baseURL, err)
	}
	return err
}
