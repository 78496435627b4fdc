/**
 * A value, or the promise of one. For steps that rarely wait: a promise costs its caller a loop turn and memory even when
 * nothing waits, and the edge takes several such steps per request.
 */
export type MaybePromise<Value> = Value | Promise<Value>

/** Goes on with the value: at once, or when it is there. */
export function after<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Runs `work`, and `end` once it has ended, whatever became of it. */
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
