import type { ComponentChildren, JSX } from 'preact'

/** A part of the page with a heading. `sealed` marks the key of the operator. */
export function Panel(props: {
  readonly title: string
  readonly end?: ComponentChildren
  readonly sealed?: true
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class={props.sealed === true ? 'panel sealed' : 'panel'}>
      <header>
        <h2>{props.title}</h2>
        {props.end === undefined ? null : <div class="end">{props.end}</div>}
      </header>
      {props.children}
    </section>
  )
}
