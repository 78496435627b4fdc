const AT_ONCE = 8

/** Runs a task so many times, several at once. */
export async function inTurns(times: number, task: (at: number) => Promise<void>): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < times) {
      const at = next
      next += 1
      await task(at)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}
