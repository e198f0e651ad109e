// Package ci runs CI configuration on this machine, for the tests of the examples: the
// steps of a workflow as GitHub Actions does, the scripts of a job as GitLab does, and
// a program gh that answers as GitHub does.
//
// The shell is real, and so are the programs that it calls. Whatever is not supported
// is an error, so that no test passes by accident: an expression without a value, an
// unknown action or flag of gh, and an expression within a script, where the author of
// its value could write commands.
package ci
