/**
 * Resolves when every connection that had something to say in this turn of the event loop has been read. Work put off
 * until then is shared by all requests that came together; a caller who is alone waits some microseconds.
 */
export function endOfLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
