/** The forecast of a period, if it goes on as it began. Times are in milliseconds. */

/** Of less time than this nothing can be said. */
const TOO_EARLY = 86_400_000

export function atItsEnd(used: number, start: number, end: number, now: number): number | undefined {
  const passed = Math.min(now, end) - start
  return passed < TOO_EARLY ? undefined : used * ((end - start) / passed)
}
