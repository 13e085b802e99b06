/** A score against what is wanted, both from 0 to 1, as a bar with a mark. The words beside it say the same. */
export function Score({ score, threshold }: { score: number; threshold: number }) {
  const at = (share: number) => 100 * Math.min(1, Math.max(0, share))
  return (
    <svg className="score" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={`${score.toFixed(3)} of ${threshold.toFixed(3)} wanted`}>
      <rect className="whole" width={100} height={6} rx={1} />
      <rect className={score >= threshold ? 'reached' : 'short'} width={at(score)} height={6} rx={1} />
      <line x1={at(threshold)} x2={at(threshold)} y1={0} y2={6} />
    </svg>
  )
}
