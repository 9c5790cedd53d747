-- 4 rules by secateur, and "otherwise". It answers every training row as the rules do; what they promise for
-- every possible row needs their exact limits, which SQL that is not plain has.
-- It assumes finite numbers in mean symmetry, worst texture, worst perimeter, worst concavity, worst concave
-- points, worst symmetry. NULL is a blank; texts that stand for one, such as N/A, must be NULL.
-- Limits have as few digits as keep every training row on its side; a new number between two training values may
-- go the other way than in the model.
SELECT
  CASE
    WHEN "mean symmetry" IS NULL OR "worst texture" IS NULL OR "worst perimeter" IS NULL OR "worst concavity" IS NULL
      OR "worst concave points" IS NULL OR "worst symmetry" IS NULL
      THEN NULL -- not decided: a blank, or what the model rejects
    WHEN "worst perimeter" <= 112.85 THEN CASE
      WHEN "worst concave points" > 0.1603 AND "worst concavity" <= 1.0504 THEN 'malignant' -- 1: 8 of 9 malignant (7 of 7 in training); states 100.0 %
      WHEN "worst concave points" <= 0.1603 AND "worst perimeter" <= 102.4 AND "worst symmetry" <= 0.16085
        THEN 'malignant' -- 2: 0 of 1 malignant, too few to tell (1 of 1 in training); states 100.0 %
      WHEN "worst concave points" <= 0.1603 AND "worst perimeter" > 102.4 AND "worst texture" > 29.18
        THEN 'malignant' -- 3: 2 of 3 malignant, too few to tell (5 of 7 in training); states 71.4 %
      ELSE 'benign' -- 4: 11 of 171 malignant (0 of 180 in training); did not hold up; states 0.0 %
    END
    ELSE CASE
      WHEN "worst concave points" <= 0.11325 AND "mean symmetry" > 0.16481 THEN 'benign' -- 5: 4 of 6 malignant (0 of 1 in training); most of its unseen rows are malignant; states 0.0 %
      ELSE 'malignant' -- 6: 85 of 94 malignant (89 of 89 in training); did not hold up; states 100.0 %
    END
  END AS "prediction",
  source.*
FROM "clinic"."patients" AS source
