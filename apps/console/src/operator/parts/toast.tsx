import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useStore } from '../store.ts'
import { Icon } from './icon.tsx'
import { type ShownToast, removeToast, shownToasts } from './toasts.ts'

export { showToast, toastHistory } from './toasts.ts'
export type { Toast } from './toasts.ts'

export function Toasts(): JSX.Element {
  const toasts = useStore(shownToasts)
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <OneToast key={toast.id} toast={toast} />
      ))}
    </div>
  )
}

function OneToast({ toast }: { readonly toast: ShownToast }): JSX.Element {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const start = (): void => {
    timer.current = setTimeout(() => removeToast(toast.id), toast.ms ?? (toast.undo === undefined ? 8_000 : 30_000))
  }
  const stop = (): void => clearTimeout(timer.current)
  useEffect(() => {
    start()
    return stop
  }, [])
  return (
    <div class="toast" onMouseEnter={stop} onMouseLeave={start} onFocusIn={stop} onFocusOut={start}>
      <p>
        {toast.text}
        {toast.more === undefined ? null : <small>{toast.more}</small>}
      </p>
      {toast.link === undefined ? null : (
        <a class="btn tiny" href={toast.link.href}>
          {toast.link.text}
        </a>
      )}
      {toast.requestId === undefined ? null : (
        <a class="btn tiny" href={`/operator/audit?request_id=${encodeURIComponent(toast.requestId)}`}>
          Audit event
        </a>
      )}
      {toast.undo === undefined ? null : (
        <button
          type="button"
          class="btn tiny"
          onClick={() => {
            toast.undo?.run()
            removeToast(toast.id)
          }}
        >
          {toast.undo.text}
        </button>
      )}
      <button type="button" class="copy" aria-label="Close message" onClick={() => removeToast(toast.id)}>
        <Icon name="close" />
      </button>
    </div>
  )
}
