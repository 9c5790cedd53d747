-- 3 rules by secateur, method none. Nothing was deleted: each row is covered by the rule of its own leaf and by
-- no other.
WITH decided AS (
  SELECT
    CASE
      WHEN typed.age_number IS NULL
      OR NOT typed.age_number BETWEEN -3.4028235677973362E+38 AND 3.4028235677973362E+38
      THEN NULL /* rejected: no rule is for such a row */
      WHEN typed.age_number > 0.80000002
      THEN 3 /* age > 0.80000002 => back */
      WHEN typed.age_number <= 0.80000002
      AND (
        NOT typed.ward_label IN (N'A', N'B') OR typed.ward_label IS NULL
      )
      THEN 2 /* age <= 0.80000002 and (ward not in {A, B} or missing) => back */
      WHEN typed.age_number <= 0.80000002 AND typed.ward_label IN (N'A', N'B')
      THEN 1 /* age <= 0.80000002 and ward in {A, B} => home */
    END AS [rule],
    source.*
  FROM [patients] AS source CROSS APPLY (
    SELECT
      CASE
        WHEN NOT CAST(source.[age] AS FLOAT) BETWEEN -3.4028235677973362E+38 AND 3.4028235677973362E+38
        THEN CAST(source.[age] AS FLOAT)
        ELSE CAST(CAST(CAST(source.[age] AS FLOAT) AS FLOAT(24)) AS FLOAT)
      END AS age_number,
      CAST(source.[ward] AS NVARCHAR(MAX)) COLLATE Latin1_General_100_BIN2 AS ward_label
  ) AS typed
)
SELECT
  CASE
    WHEN decided.[rule] IN (2, 3)
    THEN N'back'
    WHEN decided.[rule] = 1
    THEN N'home'
  END AS [prediction],
  CAST(CASE
    WHEN decided.[rule] = 3
    THEN 1
    WHEN decided.[rule] = 2
    THEN 0.9
    WHEN decided.[rule] = 1
    THEN 0.75
  END AS FLOAT) AS [share],
  decided.*
FROM decided
