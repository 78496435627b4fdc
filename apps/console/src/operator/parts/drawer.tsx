import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ICONS, type IconName, SEAL, SHAPES, type ShapeName, type Tone } from './icons.ts'

export type { ShapeName, Tone } from './icons.ts'

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  )
}

/** Stands for the operator's key: on the key chip, and on every action that ends with a signature. */
export function Seal(): JSX.Element {
  return (
    <svg class="i goldmark" viewBox="0 0 16 16" aria-hidden="true">
      <path d={SEAL.solid} />
      <path d={SEAL.dashed} stroke-dasharray="1 1.5" />
    </svg>
  )
}

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

export function Shape(props: { readonly shape: ShapeName; readonly tone?: Tone }): JSX.Element {
  const { fill, line, width, dash } = SHAPES[props.shape]
  return (
    <svg viewBox="0 0 12 12" aria-hidden="true" class={props.tone === undefined ? '' : `mark ${props.tone}`}>
      {line === undefined ? null : (
        <path
          d={line}
          fill="none"
          stroke="currentColor"
          stroke-width={width}
          stroke-linecap="round"
          {...(dash === true ? { 'stroke-dasharray': '2.2 1.6' } : {})}
        />
      )}
      {fill === undefined ? null : <path d={fill} fill="currentColor" />}
    </svg>
  )
}

/** A state: a shape, a word and a colour. The shape alone distinguishes it. */
export function State(props: {
  readonly shape: ShapeName
  readonly tone: Tone
  readonly word: string
  readonly isPill?: true
}): JSX.Element {
  return (
    <span class={`state ${props.tone}${props.isPill === true ? ' pill' : ''}`}>
      <Shape shape={props.shape} />
      {props.word}
    </span>
  )
}
