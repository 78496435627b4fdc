/**
 * Returns the result of `operation`, or fails when it takes too long. The operation itself continues without a caller.
 */
export async function withinSeconds<Result>(
  seconds: number,
  operation: Promise<Result>,
  message: string,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), seconds * 1000)
  })
  try {
    return await Promise.race([operation, limit])
  } finally {
    clearTimeout(timer)
  }
}
