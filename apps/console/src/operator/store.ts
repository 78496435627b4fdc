import { useLayoutEffect, useState } from 'preact/hooks'

/** A value with subscribers. */
export interface Store<Value> {
  get(): Value
  set(value: Value): void
  /** Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
}

export function createStore<Value>(initial: Value): Store<Value> {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return
      value = next
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Renders again when the value changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [shown, setShown] = useState<{ readonly value: Value }>({ value: store.get() })
  useLayoutEffect(() => {
    const update = (): void =>
      setShown((before) => (Object.is(before.value, store.get()) ? before : { value: store.get() }))
    const end = store.subscribe(update)
    // The value may have changed between the first rendering and this subscription.
    update()
    return end
  }, [store])
  return shown.value
}
