package workloads

import (
	encodingjson "encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// job reads a Job, which may have begun.
func (r *reader) job(o Object) error {
	j, err := typed[batchv1.Job](r, o)
	if err != nil {
		return err
	}
	raw, err := encodingjson.Marshal(o.Fields["status"])
	if err != nil {
		return err
	}
	var status batchv1.JobStatus
	if err := encodingjson.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("read its status: %w", plain(err))
	}
	if slices.ContainsFunc(status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == "True" && slices.Contains(ending, c.Type)
	}) {
		r.note("%s does not count: it has ended.", title(o.Fields))
		return nil
	}
	return r.runs(o, j.Spec, status)
}

// ending are the conditions of a Job that makes no more pods.
var ending = []batchv1.JobConditionType{
	batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget,
}

// cronJob reads a CronJob, as if one Job of it began.
func (r *reader) cronJob(o Object) error {
	c, err := typed[batchv1.CronJob](r, o)
	if err != nil {
		return err
	}
	c.Spec.JobTemplate.Spec.Suspend = c.Spec.Suspend
	return r.runs(o, c.Spec.JobTemplate.Spec, batchv1.JobStatus{})
}

// runs adds the pods that a Job has at a time at most.
func (r *reader) runs(o Object, spec batchv1.JobSpec, status batchv1.JobStatus) error {
	if ptr.Deref(spec.Suspend, false) {
		r.note("%s does not count: it is suspended.", title(o.Fields))
		return nil
	}
	return r.add(o, atOnce(spec, status), spec.Template)
}

// atOnce is how many pods a Job still has at a time at most, as its controller counts them.
func atOnce(spec batchv1.JobSpec, status batchv1.JobStatus) int32 {
	most := ptr.Deref(spec.Parallelism, 1)
	switch {
	case spec.Completions == nil && status.Succeeded > 0:
		return min(most, status.Active) // one has found nothing left to do: no more are made
	case spec.Completions == nil, most < 0:
		return most
	case *spec.Completions < 0:
		return *spec.Completions
	}
	return max(0, min(most, *spec.Completions-status.Succeeded-indexes(ptr.Deref(status.FailedIndexes, ""))))
}

// indexes counts those of a list such as 1,3-5.
func indexes(text string) (n int32) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, several := strings.Cut(part, "-")
		first, err := strconv.ParseInt(from, 10, 32)
		if err != nil {
			continue
		}
		last := first
		if several {
			if last, err = strconv.ParseInt(to, 10, 32); err != nil || last < first {
				continue
			}
		}
		n += int32(last - first + 1)
	}
	return n
}
