package linodetest

import "github.com/prometheus/client_golang/prometheus"

// Gathered returns the values of metrics by their names and their labels state and reason; of a
// histogram how often something was observed.
func Gathered(from prometheus.Gatherer) (map[string]float64, error) {
	families, err := from.Gather()
	values := map[string]float64{}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			name := f.GetName()
			for _, label := range metric.GetLabel() {
				if label.GetName() == "state" || label.GetName() == "reason" {
					name += " " + label.GetValue()
				}
			}
			values[name] += metric.GetGauge().GetValue() + metric.GetCounter().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values, err
}
