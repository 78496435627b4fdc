import type { JSX } from 'preact'
import { type DiffLine, diffTexts } from './diff.ts'

const CLASSES = { '+': 'come', '-': 'gone', ' ': '' } as const
const WORDS = { '+': 'added: ', '-': 'removed: ', ' ': '' } as const

/** Two texts as a unified diff. Equal parts are folded. */
export function DiffView(props: {
  readonly before: string
  readonly after: string
  /** What the first text is, for screen readers: «version 2». */
  readonly name: string
}): JSX.Element {
  const lines = diffTexts(props.before, props.after)
  if (lines.length === 0)
    return (
      <p class="pad quiet" data-diff="none">
        There is no difference to {props.name}.
      </p>
    )
  return (
    <ol class="diff" tabIndex={0} aria-label={`Difference to ${props.name}`} data-diff={changeCount(lines)}>
      {lines.map((line, at) => (
        <li key={at} class={isFold(line) ? 'fold' : CLASSES[line.sign]}>
          <span>{line.before}</span>
          <span>{line.after}</span>
          <b aria-hidden="true">{isFold(line) ? '⋯' : line.sign}</b>
          <code>
            <span class="unseen">{WORDS[line.sign]}</span>
            {isFold(line) ? 'unchanged' : line.text}
          </code>
        </li>
      ))}
    </ol>
  )
}

const isFold = (line: DiffLine): boolean => line.before === undefined && line.after === undefined

const changeCount = (lines: readonly DiffLine[]): string =>
  `+${lines.filter(({ sign }) => sign === '+').length} −${lines.filter(({ sign }) => sign === '-').length}`

/** The numbers of added and removed lines, for the heading of a diff. */
export function DiffCount(props: { readonly before: string; readonly after: string }): JSX.Element {
  const lines = diffTexts(props.before, props.after)
  return (
    <>
      <span class="ok">+{lines.filter(({ sign }) => sign === '+').length}</span>{' '}
      <span class="no">−{lines.filter(({ sign }) => sign === '-').length}</span>
    </>
  )
}
