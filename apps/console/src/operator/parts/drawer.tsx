import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

/**
 * A drawer at the right, a sheet on a phone. The dialog element holds the focus and gives it back. `isReading` is for a
 * drawer that only shows something.
 */
export function Drawer(props: {
  readonly title: string
  readonly sentence?: string
  readonly isReading?: true
  readonly name: string
  readonly onClose: () => void
  readonly foot?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
    return () => dialog.current?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      class={`drawer${props.isReading === true ? ' reading' : ''}`}
      aria-labelledby={`${props.name}-title`}
      data-drawer={props.name}
      onCancel={(event) => {
        event.preventDefault()
        props.onClose()
      }}
      onClick={(event) => event.target === dialog.current && props.onClose()}
    >
      <header>
        <div>
          <h2 id={`${props.name}-title`}>{props.title}</h2>
          {props.sentence === undefined ? null : <p>{props.sentence}</p>}
        </div>
        <button type="button" class="btn icon ghost" aria-label="Close" onClick={props.onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="body">{props.children}</div>
      {props.foot === undefined ? null : <footer>{props.foot}</footer>}
    </dialog>
  )
}
