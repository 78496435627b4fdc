import type { JSX } from 'preact'
import { Shape, type ShapeName, State } from '../../parts/drawer.tsx'
import { type Toast, showToast } from '../../parts/toasts.ts'
import { type DraftFormat, FORMATS, type Validation, type Writing, changeFormat } from './validation.ts'
import { loadFormat } from './load-format.ts'
import type { JsonObject } from '@chancery/protocol'
import { plain } from '../../../components/plain.ts'
import { at } from '../../client.ts'
import type { Act } from '../../signing/act.ts'
import {
  activateTarget,
  activatedToast,
  checkVersions,
  policyHref,
  replayEffects,
  withoutReplay,
} from '../policies/acts.ts'
import type { Replay } from '../policies/acts.ts'
import { diffTexts } from '../policies/diff.ts'
import type { TextProblem } from '../policies/policy-text.ts'

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

export interface Publication {
  readonly policyId: string
  readonly intent: JsonObject
  readonly version: number
  /** The version in force now. */
  readonly before: number | undefined
}

/** Stores the draft as the next version. It is not in force after that. */
export function publishAct({ policyId, intent, version, before }: Publication): Act {
  return {
    name: 'publish',
    title: `Publish ${policyId} ${version}`,
    sentence: 'The authority signs and stores this version. Decisions do not use it until it is activated.',
    button: 'Sign and publish',
    fields: [],
    isPrivileged: true,
    requests: () => [publishRequest(intent)],
    effects: () => [
      { shape: 'tick', tone: 'good', text: `Version ${version} is stored. A stored version cannot be changed.` },
      before === undefined
        ? { shape: 'dash', tone: 'ended', text: 'No version is in force' }
        : { shape: 'dash', tone: 'ended', text: `Version ${before} stays in force` },
    ],
    done: ([answer]) => ({
      toast: {
        text: `${policyId} ${plain(answer?.['version'])} is published.`,
        link: { href: policyHref(policyId), text: 'Versions' },
      },
    }),
    unknown: checkVersions(policyId, `Version ${version} may be published.`),
  }
}

/** Publishes the draft and puts it in force: two requests, one after the other. */
export function publishAndActivateAct(publication: Publication, replayed: Replay): Act {
  const { policyId, intent, version, before } = publication
  return {
    name: 'publish-and-activate',
    title: `Publish and activate ${policyId} ${version}`,
    sentence: `Decisions use this version from the next request on.${before === undefined ? '' : ` Version ${before} stays stored: activate it to go back.`}`,
    button: 'Sign both',
    fields: [],
    isPrivileged: true,
    ...withoutReplay(replayed),
    requests: () => [publishRequest(intent), { target: activateTarget(policyId), body: { version } }],
    checkAnswers: ([published]) => {
      // Another operator published first: the second request would put that version in force.
      if (published?.['version'] !== version)
        throw new Error(`It was published as version ${plain(published?.['version'])}. Activate that version.`)
    },
    effects: () => [
      ...replayEffects(replayed),
      {
        shape: 'tick',
        tone: 'good',
        text: 'Two requests are signed, one after the other',
        more: `If the second fails, version ${version} is published but not in force.`,
      },
    ],
    done: ([, answer]) => ({ toast: activatedToast(publication, answer) }),
    unknown: checkVersions(policyId, `Version ${version} may be published, and may be in force.`),
  }
}

const publishRequest = (intent: JsonObject): ReturnType<Act['requests']>[number] => ({
  target: at`/admin/boundary-policies`,
  body: intent,
  isRepeatable: true,
})

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
