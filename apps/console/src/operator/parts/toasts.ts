import { clearOnLock } from '../key.ts'
import { createStore } from '../store.ts'

export interface Toast {
  readonly text: string
  readonly more?: string
  readonly link?: { readonly href: string; readonly text: string }
  /** The request whose audit event the toast links to. */
  readonly requestId?: string | undefined
  /** A way back, for as long as the toast is shown. */
  readonly undo?: { readonly text: string; readonly run: () => void }
  /** Milliseconds; 8 s when not given, 30 s with `undo`. */
  readonly ms?: number
}

export interface ShownToast extends Toast {
  readonly id: number
}

export const shownToasts = createStore<readonly ShownToast[]>([])
/** Everything that was shown since the unlock, for Help. */
export const toastHistory = createStore<readonly { readonly at: string; readonly text: string }[]>([])
let last = 0

export function showToast(toast: Toast): void {
  last += 1
  shownToasts.set([...shownToasts.get(), { ...toast, id: last }].slice(-2))
  toastHistory.set([{ at: new Date().toISOString(), text: toast.text }, ...toastHistory.get()].slice(0, 100))
}

export const removeToast = (id: number): void => shownToasts.set(shownToasts.get().filter((each) => each.id !== id))

clearOnLock(() => {
  shownToasts.set([])
  toastHistory.set([])
})
