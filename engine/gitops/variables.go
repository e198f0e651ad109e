package gitops

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// ReadVariables returns a function for a Worker that reads the variables of a NodePlan: those in
// ConfigMaps and Secrets, in order, and those in the spec, which override them.
func ReadVariables(reader client.Reader) func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) {
	return func(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (Variables, error) {
		values := map[string]config.Var{}
		var v Variables
		for _, from := range np.Spec.VariablesFrom {
			read, err := readFrom(ctx, reader, np.Namespace, from)
			if err != nil {
				return v, err
			}
			secret := from.Kind == "Secret"
			for name, value := range read {
				values[name] = config.Var{Name: name, Value: value, Secret: secret}
			}
			if secret {
				v.Secrets = append(v.Secrets, slices.Collect(maps.Values(read))...)
			}
		}
		for name, raw := range np.Spec.Variables {
			values[name] = config.Var{Name: name, Value: nodeplan.Text(raw.Raw)}
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			v.Vars = append(v.Vars, values[name])
		}
		return v, nil
	}
}

func readFrom(
	ctx context.Context, reader client.Reader, namespace string, from lkeplanv1alpha1.VariablesReference,
) (map[string]string, error) {
	at := client.ObjectKey{Namespace: namespace, Name: from.Name}
	values := map[string]string{}
	var err error
	if from.Kind == "Secret" {
		var secret corev1.Secret
		err = reader.Get(ctx, at, &secret)
		for name, value := range secret.Data {
			values[name] = string(value)
		}
	} else {
		var source corev1.ConfigMap
		err = reader.Get(ctx, at, &source)
		values = source.Data
	}
	if from.Optional && apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read variables from %s %s: %w", from.Kind, at, err)
	}
	return values, nil
}

// Variables are the values of a NodePlan, and the secret values that must not be shown.
type Variables struct {
	Vars    []config.Var
	Secrets []string
}

// mask hides secrets in an outcome, and in the parts of the status that a plan writes. The compiler refuses values
// from Secrets in objects and messages; mask covers objects that contain the same values for other reasons. It
// truncates texts only after that, because it would not recognize half a secret.
func (v Variables) mask(np *lkeplanv1alpha1.NodePlan, o outcome) outcome {
	hidden := newRedactor(v.Secrets)
	hide := func(texts ...*string) {
		for _, text := range texts {
			*text = hidden.Replace(*text)
		}
	}
	hide(&o.message, &o.event, &o.corrected)
	s := &np.Status
	s.Guards = s.Guards[:min(len(s.Guards), mostListed)]
	for i := range s.Guards {
		hide(&s.Guards[i].Message, &s.Guards[i].Address, &s.Guards[i].Permission)
		s.Guards[i].Message = diag.Shorten(s.Guards[i].Message, maxVerdict)
	}
	for i := range s.Drift {
		hide(&s.Drift[i].Object, &s.Drift[i].Path)
	}
	for i := range s.Pools {
		hide(&s.Pools[i].Name)
	}
	if s.Rollout != nil {
		hide(&s.Rollout.Message)
		s.Rollout.Message = diag.Shorten(s.Rollout.Message, maxVerdict)
	}
	if s.Plan != nil {
		hide(&s.Plan.Summary)
		s.Plan.Summary = diag.Shorten(s.Plan.Summary, maxSummary)
		for i := range s.Plan.Moves {
			m := &s.Plan.Moves[i]
			hide(&m.NodeClaim, &m.Node, &m.Effect)
			m.Effect = diag.Shorten(m.Effect, maxField)
		}
		left := maxChanges
		for i := range s.Plan.Changes {
			c := &s.Plan.Changes[i]
			hide(&c.Object, &c.Effect)
			for j := range c.Fields {
				hide(&c.Fields[j])
				c.Fields[j] = diag.Shorten(c.Fields[j], maxField)
			}
			for _, text := range append([]string{c.Object, c.Effect}, c.Fields...) {
				left -= len(text)
			}
			if left < 0 {
				s.Plan.Changes = s.Plan.Changes[:i]
				break
			}
		}
	}
	return o
}

// masked returns a Recorder that writes a status without secrets.
func (v Variables) masked(np *lkeplanv1alpha1.NodePlan, record Recorder) Recorder {
	return func(ctx context.Context) error {
		v.mask(np, outcome{})
		return record(ctx)
	}
}

// maxSummary is the maximum length of a plan's summary, in bytes.
const maxSummary = 1024

// maxField is the maximum length of a field in a planned change, and of the effect on a node. maxChanges is the
// maximum length of all planned changes together, in bytes.
const (
	maxField   = 512
	maxChanges = 100_000
)

// maxVerdict is the maximum length of a guard's message, in bytes: a policy can write any text, and
// the API server refuses a status that is too large.
const maxVerdict = 2048

// newRedactor returns a replacer of secrets by stars. The longest forms come first, so that no rest
// remains of a secret that starts with another one.
func newRedactor(secrets []string) *strings.Replacer {
	var forms []string
	for _, secret := range secrets {
		forms = append(forms, spellings(secret)...)
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, "***")
	}
	return strings.NewReplacer(pairs...)
}

// The minimum lengths of texts that are replaced, in bytes. Shorter texts occur in every message. A
// line is only a part of a secret, and short lines are common.
const (
	shortestSecret = 4
	shortestLine   = 8
)

// spellings returns the forms of a secret in a text: unchanged, without the line break at the end, line by line,
// and each of these in quotes.
func spellings(secret string) (forms []string) {
	add := func(text string, shortest int) {
		if len(text) < shortest {
			return
		}
		forms = append(forms, text)
		if quoted, err := json.Marshal(text); err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
	}
	add(secret, shortestSecret)
	add(strings.TrimSpace(secret), shortestSecret)
	if strings.Contains(strings.TrimSpace(secret), "\n") {
		for line := range strings.Lines(secret) {
			add(strings.TrimSpace(line), shortestLine)
		}
	}
	return forms
}
