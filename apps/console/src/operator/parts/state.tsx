import type { JSX } from 'preact'
import { SHAPES, type ShapeName, type Tone } from './icons.ts'

export type { ShapeName, Tone } from './icons.ts'

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
