import type { JSX } from 'preact'
import { Shape } from '../../parts/state.tsx'
import { diffTexts } from '../policies/diff.ts'
import type { TextProblem } from '../policies/policy-text.ts'

/** The text with line numbers. Changed lines and lines with a problem are marked at the edge. */
export function TextArea(props: {
  readonly text: string
  readonly base: string
  readonly problems: readonly TextProblem[]
  /** The name of the format. */
  readonly format: string
  readonly onText: (text: string) => void
  readonly onFile: (file: File) => void
}): JSX.Element {
  const { text, base, problems, format, onText, onFile } = props
  const count = text.split('\n').length
  const added = new Set(diffTexts(base, text).flatMap(({ sign, after }) => (sign === '+' ? [after] : [])))
  const drop = (event: DragEvent): void => {
    const file = event.dataTransfer?.files[0]
    if (file === undefined) return
    event.preventDefault()
    onFile(file)
  }
  return (
    <>
      <div class="written">
        <ol aria-hidden="true">
          {Array.from({ length: count }, (_, index) => (
            <li key={index} class={lineClass(index + 1, problems, added)}>
              {index + 1}
            </li>
          ))}
        </ol>
        <textarea
          aria-label={`Policy as ${format}`}
          aria-invalid={problems.length > 0}
          aria-describedby="draft-problems"
          rows={count + 1}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
          onDrop={drop}
        />
      </div>
      <ul class={problems.length === 0 ? '' : 'effect'} id="draft-problems" data-problems={problems.length}>
        {problems.map((problem, index) => (
          <li key={index}>
            <Shape shape="square" tone="bad" />
            <div>
              {problem.line === undefined ? '' : <b>Line {problem.line}: </b>}
              {problem.text}
            </div>
          </li>
        ))}
      </ul>
    </>
  )
}

function lineClass(line: number, problems: readonly TextProblem[], added: ReadonlySet<number | undefined>): string {
  if (problems.some((problem) => problem.line === line)) return 'wrong'
  return added.has(line) ? 'added' : ''
}
