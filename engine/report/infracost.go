package report

import (
	"cmp"
	"fmt"
	"io"
	"iter"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// The parts of infracost's output, version 0.2, that its tools show. Costs are
// decimal strings; null is a cost that nothing limits.
type (
	costReport struct {
		Version     string        `json:"version"`
		Currency    string        `json:"currency"`
		Projects    []costProject `json:"projects"`
		Hourly      *amount       `json:"totalHourlyCost"`
		Monthly     *amount       `json:"totalMonthlyCost"`
		PastHourly  *amount       `json:"pastTotalHourlyCost"`
		PastMonthly *amount       `json:"pastTotalMonthlyCost"`
		DiffHourly  *amount       `json:"diffTotalHourlyCost"`
		DiffMonthly *amount       `json:"diffTotalMonthlyCost"`
		Summary     costCounts    `json:"summary"`
	}
	costProject struct {
		Name     string         `json:"name"`
		Metadata map[string]any `json:"metadata"`
		Past     costBreakdown  `json:"pastBreakdown"`
		Now      costBreakdown  `json:"breakdown"`
		Diff     costBreakdown  `json:"diff"`
		Summary  costCounts     `json:"summary"`
	}
	costBreakdown struct {
		Resources []costResource `json:"resources"`
		Hourly    *amount        `json:"totalHourlyCost"`
		Monthly   *amount        `json:"totalMonthlyCost"`
	}
	costResource struct {
		Name       string          `json:"name"`
		Type       string          `json:"resourceType"`
		Metadata   map[string]any  `json:"metadata"`
		Hourly     *amount         `json:"hourlyCost"`
		Monthly    *amount         `json:"monthlyCost"`
		Components []costComponent `json:"costComponents"`
	}
	costComponent struct {
		Name            string  `json:"name"`
		Unit            string  `json:"unit"`
		HourlyQuantity  *amount `json:"hourlyQuantity"`
		MonthlyQuantity *amount `json:"monthlyQuantity"`
		Price           amount  `json:"price"`
		Hourly          *amount `json:"hourlyCost"`
		Monthly         *amount `json:"monthlyCost"`
	}
	costCounts struct {
		Detected    int `json:"totalDetectedResources"`
		Supported   int `json:"totalSupportedResources"`
		Unsupported int `json:"totalUnsupportedResources"`
		NoPrice     int `json:"totalNoPriceResources"`
	}
)

// Infracost writes the cost of the pools that change in the form of infracost,
// for what shows and compares that: the most that the limits allow, of which
// the nodes that are always there are a part.
func Infracost(w io.Writer, messages iter.Seq[Message], o Options) error {
	all := read(messages)
	project := costProject{Name: cmp.Or(o.Target, "."), Metadata: map[string]any{"path": cmp.Or(o.Target, "."), "type": "lkeplan"}}
	project.Past, project.Now, project.Diff = costBreakdown{Resources: []costResource{}}, costBreakdown{Resources: []costResource{}}, costBreakdown{Resources: []costResource{}}
	for _, c := range all.changes {
		if c.Before == nil && c.After == nil {
			continue
		}
		project.Summary.Detected++
		project.Summary.Supported++
		if c.Before != nil {
			project.Past.Resources = append(project.Past.Resources, resourceCost(c.Change, *c.Before))
		}
		if c.After != nil {
			project.Now.Resources = append(project.Now.Resources, resourceCost(c.Change, *c.After))
		}
		if difference, ok := minus(c.After, c.Before); ok {
			project.Diff.Resources = append(project.Diff.Resources, resourceCost(c.Change, difference))
		}
	}
	s := all.sum
	project.Past.Hourly, project.Past.Monthly = rates(s.Before)
	project.Now.Hourly, project.Now.Monthly = rates(s.After)
	difference, _ := minus(&s.After, &s.Before)
	project.Diff.Hourly, project.Diff.Monthly = rates(difference)
	return encode(w, costReport{
		Version: "0.2", Currency: "USD", Projects: []costProject{project}, Summary: project.Summary,
		Hourly: project.Now.Hourly, Monthly: project.Now.Monthly, PastHourly: project.Past.Hourly, PastMonthly: project.Past.Monthly,
		DiffHourly: project.Diff.Hourly, DiffMonthly: project.Diff.Monthly,
	}, "  ")
}

// minus is the difference of two costs, and whether there is any.
func minus(after, before *plan.Cost) (difference plan.Cost, any bool) {
	var a, b plan.Cost
	if after != nil {
		a = *after
	}
	if before != nil {
		b = *before
	}
	difference = plan.Cost{Floor: a.Floor - b.Floor, Ceiling: plan.Ceiling{
		Monthly: a.Ceiling.Monthly - b.Ceiling.Monthly, Unlimited: a.Ceiling.Unlimited || b.Ceiling.Unlimited,
	}}
	return difference, a != b
}

// rates are a ceiling by the hour and by the month.
func rates(c plan.Cost) (hourly, monthly *amount) {
	if c.Ceiling.Unlimited {
		return nil, nil
	}
	return hourlyOf(c.Ceiling.Monthly), amountOf(c.Ceiling.Monthly)
}

// hourlyOf is the part of an average month that an hour is.
func hourlyOf(m catalog.Money) *amount {
	a := amount((m / catalog.HoursPerMonth).String())
	return &a
}

func resourceCost(c plan.Change, bounds plan.Cost) costResource {
	r := costResource{Name: c.Addr, Type: "lkeplan_" + c.Block, Metadata: map[string]any{"kind": c.Kind, "name": c.Name}}
	if c.Source.Filename != "" {
		r.Metadata["filename"], r.Metadata["startLine"] = c.Source.Filename, c.Source.Start.Line
	}
	r.Hourly, r.Monthly = rates(bounds)
	r.Components = []costComponent{component("Nodes that are always there", bounds.Floor)}
	if !bounds.Ceiling.Unlimited {
		r.Components = append(r.Components, component("Nodes up to the limits", bounds.Ceiling.Monthly-bounds.Floor))
	}
	return r
}

func component(name string, m catalog.Money) costComponent {
	one, hours := amount("1"), amount(fmt.Sprintf("%.8f", 1.0/catalog.HoursPerMonth))
	return costComponent{name, "months", &hours, &one, *amountOf(m), hourlyOf(m), amountOf(m)}
}
