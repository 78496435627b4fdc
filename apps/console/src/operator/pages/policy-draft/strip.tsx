import type { JSX } from 'preact'
import { Shape, type ShapeName, State } from '../../parts/state.tsx'
import { type Toast, showToast } from '../../parts/toasts.ts'
import { type DraftFormat, FORMATS, type Writing, changeFormat } from './draft-format.ts'
import { loadFormat } from './load-format.ts'
import type { Validation } from './validation.ts'

/** The same draft in another notation. A text that cannot be read stays as it is, with its problem. */
export function Formats(props: {
  readonly writing: Writing
  readonly onWriting: (change: (now: Writing) => Writing) => void
}): JSX.Element {
  const { writing, onWriting } = props
  const choose = async (name: DraftFormat['name']): Promise<void> => {
    let format: DraftFormat
    try {
      format = await loadFormat(name)
    } catch {
      showToast({ text: `The script of ${name} did not load. The draft is unchanged.`, undo: again(name) })
      return
    }
    onWriting((now) => changeFormat(now, format))
  }
  const again = (name: DraftFormat['name']): NonNullable<Toast['undo']> => ({
    text: 'Try again',
    run: () => void choose(name),
  })
  return (
    <div class="seg" role="group" aria-label="Format">
      {FORMATS.map((name) => (
        <button key={name} type="button" aria-pressed={writing.format.name === name} onClick={() => void choose(name)}>
          {name}
        </button>
      ))}
    </div>
  )
}

export const validationWord = (validation: Validation | undefined): string =>
  validation === undefined ? 'waiting' : validation.nextVersion === undefined ? 'problems' : 'valid'

export function ValidationState({ validation }: { readonly validation: Validation | undefined }): JSX.Element {
  if (validation === undefined) return <State shape="dashed" tone="ended" word="Checking" />
  const { problems, warnings } = validation
  if (problems.length > 0)
    return (
      <State shape="square" tone="bad" word={problems.length === 1 ? '1 problem' : `${problems.length} problems`} />
    )
  if (warnings.length > 0) return <State shape="triangle" tone="watch" word={warnings.join('. ')} />
  return <State shape="tick" tone="good" word="No problems" />
}

export function Stages({ of }: { readonly of: readonly (readonly [name: string, isDone: boolean])[] }): JSX.Element {
  const current = of.findIndex(([, isDone]) => !isDone)
  const shapeOf = (index: number, isDone: boolean): ShapeName =>
    isDone ? 'tick' : index === current ? 'half' : 'dashed'
  return (
    <ol class="stages" aria-label="Stages">
      {of.map(([name, isDone], index) => (
        <li key={name} class={isDone ? 'done' : index === current ? 'now' : ''}>
          <Shape shape={shapeOf(index, isDone)} />
          {name}
          <span class="unseen">{isDone ? ', done' : ', not done'}</span>
        </li>
      ))}
    </ol>
  )
}
