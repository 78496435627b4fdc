/**
 * A value, or the promise of one. For steps that seldom wait: a promise costs its caller a turn and memory even when
 * nothing waits, and the edge takes several such steps per request.
 */
export type Soon<Value> = Value | Promise<Value>
