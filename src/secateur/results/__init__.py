"""What is found out about rules: audits, explanations, diagnoses, differences, and the sentences that tell of them."""
