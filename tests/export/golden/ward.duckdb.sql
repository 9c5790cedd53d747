-- 3 rules by secateur, method none. Nothing was deleted: each row is covered by the rule of its own leaf and by
-- no other.
WITH typed AS (
  SELECT
    NULLIF(
      CASE
        WHEN NOT CAST(source."age" AS DOUBLE) BETWEEN -3.4028235677973362E+38 AND 3.4028235677973362E+38
        THEN CAST(source."age" AS DOUBLE)
        ELSE CAST(CAST(CAST(source."age" AS DOUBLE) AS REAL) AS DOUBLE)
      END,
      CAST('NaN' AS DOUBLE)
    ) AS age_number,
    CASE
      WHEN source."ward" IS NULL
      THEN NULL
      WHEN REGEXP_FULL_MATCH(TYPEOF(source."ward"), 'BOOLEAN|[A-Z]*INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*')
      THEN ERROR(
        'The column ''ward'' holds truth values or numbers, but the rules compare texts such as ''A'', ''B'', ''C'': read the table with that column as text.'
      )
      ELSE CAST(source."ward" AS TEXT)
    END COLLATE "C" AS ward_label,
    source.*
  FROM "patients" AS source
), decided AS (
  SELECT
    CASE
      WHEN typed.age_number IS NULL
      OR NOT typed.age_number BETWEEN -3.4028235677973362E+38 AND 3.4028235677973362E+38
      THEN NULL /* rejected: no rule is for such a row */
      WHEN typed.age_number > 0.80000002
      THEN 3 /* age > 0.80000002 => back */
      WHEN typed.age_number <= 0.80000002
      AND (
        NOT typed.ward_label IN ('A', 'B') OR typed.ward_label IS NULL
      )
      THEN 2 /* age <= 0.80000002 and (ward not in {A, B} or missing) => back */
      WHEN typed.age_number <= 0.80000002 AND typed.ward_label IN ('A', 'B')
      THEN 1 /* age <= 0.80000002 and ward in {A, B} => home */
    END AS "rule",
    typed.*
    EXCLUDE (age_number, ward_label)
  FROM typed
)
SELECT
  CASE
    WHEN decided."rule" IN (2, 3)
    THEN 'back'
    WHEN decided."rule" = 1
    THEN 'home'
  END AS "prediction",
  CAST(CASE
    WHEN decided."rule" = 3
    THEN 1
    WHEN decided."rule" = 2
    THEN 0.9
    WHEN decided."rule" = 1
    THEN 0.75
  END AS DOUBLE) AS "share",
  decided.*
FROM decided
