/**
 * A value or a promise of it, for steps that rarely wait. A promise costs time and memory even when nothing waits, and
 * the edge runs several such steps per request.
 */
export type MaybePromise<Value> = Value | Promise<Value>

/** Calls `next` now, or when the promise resolves. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Runs `work`, then `end` once, also when `work` fails. */
export function withFinally<Value>(work: () => MaybePromise<Value>, end: () => void): MaybePromise<Value> {
  let value: MaybePromise<Value>
  try {
    value = work()
  } catch (error) {
    end()
    throw error
  }
  if (value instanceof Promise) {
    return value.then(
      (come) => {
        end()
        return come
      },
      (error: unknown) => {
        end()
        throw error
      },
    )
  }
  end()
  return value
}
