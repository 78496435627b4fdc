/**
 * Resolves after every connection with data in this event loop turn has been read. Work delayed until then is shared by
 * all requests of the turn. A single caller waits a few microseconds.
 */
export function endOfLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
