// Package ci runs on this machine what CI configuration says, for the tests of
// the examples: the steps of a workflow as a runner of GitHub Actions does, the
// scripts of a job as one of GitLab does, with the program gh as GitHub answers
// it.
//
// The shell is real, and so is what it calls. What a test has not thought of is
// an error and nothing that passes: an expression without a value, an action
// that is not known here, a flag of gh, an expression within a script, where
// whoever writes its value could write commands.
package ci
