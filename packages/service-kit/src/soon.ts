/**
 * A value, or the promise of one. For steps that seldom wait: a promise costs its caller a turn and memory even when
 * nothing waits, and the edge takes several such steps per request.
 */
export type Soon<Value> = Value | Promise<Value>

/** Goes on with the value: at once, or when it is there. */
export function after<Value, Next>(value: Soon<Value>, next: (value: Value) => Soon<Next>): Soon<Next> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Runs `work`, and `end` once it has ended, whatever became of it. */
export function endingWith<Value>(work: () => Soon<Value>, end: () => void): Soon<Value> {
  let value: Soon<Value>
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
