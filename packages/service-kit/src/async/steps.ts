/**
 * A value or a promise of it, for steps that rarely wait. A promise costs time and memory even when nothing waits, and
 * the edge runs several such steps per request.
 */
export type MaybePromise<Value> = Value | Promise<Value>

/** A request that goes through the steps of its protocol text. */
export interface SteppedRequest {
  /** What the steps have made. */
  readonly result: unknown
  readonly isAnswered: boolean
}

/** One step. It refuses by throwing. */
export type Step<Request> = (request: Request) => MaybePromise<void>

/**
 * Runs the steps in their order, synchronously where none waits. The first one that refuses decides the response. No
 * step runs after the response, which may come from a deadline.
 */
export function runSteps<Request extends SteppedRequest>(
  steps: readonly Step<Request>[],
  request: Request,
): MaybePromise<Request['result']> {
  for (let index = 0; index < steps.length; index += 1) {
    const waiting = steps[index]?.(request)
    if (waiting instanceof Promise) return runAfter(waiting, steps, index + 1, request)
  }
  return request.result
}

async function runAfter<Request extends SteppedRequest>(
  waiting: Promise<void>,
  steps: readonly Step<Request>[],
  next: number,
  request: Request,
): Promise<Request['result']> {
  await waiting
  for (let index = next; index < steps.length && !request.isAnswered; index += 1) {
    const more = steps[index]?.(request)
    if (more instanceof Promise) await more
  }
  return request.result
}

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
