"""RuleBench: methods that shorten rules, and learners of rules, on many data sets and trees."""
