import type { BoundaryPolicyVersion } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { plain } from '../../../components/plain.ts'
import { Bar } from '../../parts/bar.tsx'
import { Shape, State } from '../../parts/state.tsx'
import { Acts, doHref } from '../../signing/review.tsx'
import { ReplayedAct } from '../policies/activation.tsx'
import { DiffCount, DiffView } from '../policies/diff-view.tsx'
import { type Draft, NEW_POLICY, removeDraft, saveDraft } from '../policies/drafts.ts'
import { policyHref } from '../policies/links.ts'
import { intentOf } from '../policies/policy-text.ts'
import { useReplay } from '../policies/replay.ts'
import type { DraftFormat, Writing } from './draft-format.ts'
import { loadFormat } from './load-format.ts'
import { type Publication, publishAct, publishAndActivateAct } from './publish-acts.ts'
import { ReplayView } from './replay-view.tsx'
import { Formats, Stages, ValidationState, validationWord } from './strip.tsx'
import { TextArea } from './text-area.tsx'
import { type Validation, useValidation } from './validation.ts'

interface EditorProps {
  readonly id: string
  /** Newest first. */
  readonly versions: readonly BoundaryPolicyVersion[]
  readonly initial: Draft
  /** How the draft is written at first. */
  readonly format: DraftFormat
  readonly query: URLSearchParams
}

const SAVE_DELAY_MS = 300

const textOf = ({ policy }: BoundaryPolicyVersion, format: DraftFormat): string =>
  policy === null ? '' : format.write(intentOf(policy))

/** Both texts with defaults and in one order; the text as written while it cannot be read. */
function comparable({ text, format }: Writing): string {
  const { intent } = format.read(text)
  return intent === undefined ? text : format.write(intent)
}

/** The text at the left; what it changes and the replay at the right. */
// oxlint-disable-next-line max-lines-per-function -- the state of the page and its markup
export function Editor({ id, versions, initial, format: first, query }: EditorProps): JSX.Element {
  const [writing, setWriting] = useState<Writing>({ text: initial.text, format: first })
  const { text, format } = writing
  const setText = (next: string): void => setWriting({ ...writing, text: next })
  const [isSaved, setSaved] = useState(initial.savedAt !== '')
  const isNew = id === NEW_POLICY
  const validation = useValidation(writing, isNew ? undefined : id)
  const written = comparable(writing)
  const active = versions.find((version) => version.active)
  const stored = versions.find((version) => textOf(version, format) === written)
  useStoredDraft({ id, writing, initial, isStored: stored !== undefined, onSaved: setSaved })
  const [isAsked, setAsked] = useState('')
  const wanted = query.get('do') === 'publish-and-activate' || isAsked === text
  const isValid = validation?.nextVersion !== undefined
  const { replay, again } = useReplay(text, wanted && isValid ? validation.intent : undefined)
  const title = isNew ? 'New policy' : id
  const base = active ?? versions.find(({ version }) => version === initial.from)
  const name = base === undefined ? 'an empty policy' : `version ${base.version}${base.active ? ', in force' : ''}`
  const texts = { before: base === undefined ? '' : textOf(base, format), after: written }
  return (
    <>
      <Bar title={title} crumbs={[{ href: '/operator/policies', text: 'Policies' }]}>
        <span class="live wide-only">{isSaved ? 'Draft saved in this browser' : 'No changes'}</span>
        {isNew ? null : (
          <a class="btn wide-only" href={policyHref(id)}>
            Versions
          </a>
        )}
        <PublishLinks id={id} isValid={isValid} stored={stored} />
      </Bar>
      <div class="filters">
        <Heading {...{ id, versions, active, stored, validation }} />
        <div class="end">
          <Stages
            of={[
              ['Written', text !== '' && validation?.intent !== undefined],
              ['Valid', isValid],
              ['Replayed', replay?.result !== undefined],
              ['Published', stored !== undefined],
              ['In force', stored?.active === true],
            ]}
          />
        </div>
      </div>
      <OtherVersion draft={initial} active={active} />
      <div class="editor">
        <section aria-label="The draft">
          <header class="strip">
            <Formats writing={writing} onWriting={setWriting} />
            <div class="end" role="status" data-validation={validationWord(validation)}>
              <ValidationState validation={validation} />
              <button
                type="button"
                class="btn tiny ghost"
                onClick={() =>
                  base === undefined ? setWriting({ text: initial.text, format: first }) : setText(textOf(base, format))
                }
              >
                Start from {base === undefined ? 'the beginning' : base.version}
              </button>
            </div>
          </header>
          {format.View === undefined ? (
            <TextArea
              text={text}
              base={texts.before}
              problems={validation?.problems ?? []}
              format={format.name}
              onText={setText}
              onFile={(file) => void readFile(file).then(setWriting)}
            />
          ) : (
            <format.View text={text} problems={validation?.problems ?? []} isNew={isNew} onText={setText} />
          )}
          {format.name === 'YAML' ? (
            <p class="pad quiet small">Comments stay in this draft. They are not part of the policy.</p>
          ) : null}
        </section>
        <section aria-label="What it changes">
          <header class="strip">
            <b>Against {name}</b>
            <div class="end">
              <DiffCount {...texts} />
            </div>
          </header>
          <DiffView {...texts} name={name} />
          <ReplayView
            replay={replay}
            intent={isValid ? validation.intent : undefined}
            isRunning={wanted && isValid && replay === undefined}
            onRun={() => {
              setAsked(text)
              if (replay !== undefined) again()
            }}
          />
        </section>
      </div>
      <DraftActs query={query} publication={toPublication(validation, active)} replay={replay} />
    </>
  )
}

const readFile = async (file: File): Promise<Writing> => ({
  text: await file.text(),
  format: await loadFormat(/\.ya?ml$/i.test(file.name) ? 'YAML' : 'JSON'),
})

/** Keeps the draft in this browser while it differs from every stored version. */
function useStoredDraft(props: {
  readonly id: string
  readonly writing: Writing
  readonly initial: Draft
  readonly isStored: boolean
  readonly onSaved: (isSaved: boolean) => void
}): void {
  const { id, initial, isStored, onSaved } = props
  const { text, format } = props.writing
  useEffect(() => {
    const isUntouched = text === initial.text && initial.savedAt === ''
    const timer = setTimeout(() => {
      if (isStored || isUntouched) void removeDraft(id).then(() => onSaved(false))
      else
        void saveDraft({
          id,
          text,
          format: format.name,
          from: initial.from,
          savedAt: new Date().toISOString(),
        }).then(() => onSaved(true))
    }, SAVE_DELAY_MS)
    return () => clearTimeout(timer)
  }, [text, isStored])
}

function toPublication(
  validation: Validation | undefined,
  active: BoundaryPolicyVersion | undefined,
): Publication | undefined {
  const { intent, nextVersion } = validation ?? {}
  if (intent === undefined || nextVersion === undefined) return undefined
  return { policyId: plain(intent['policy_id']), intent, version: nextVersion, before: active?.version }
}

function PublishLinks(props: {
  readonly id: string
  readonly isValid: boolean
  readonly stored: BoundaryPolicyVersion | undefined
}): JSX.Element | null {
  const { id, isValid, stored } = props
  if (stored !== undefined)
    return stored.active ? null : (
      <a class="btn primary" href={`${policyHref(id)}?do=activate-${stored.version}`}>
        Activate {stored.version}…
      </a>
    )
  if (!isValid) return null
  return (
    <>
      <a class="btn wide-only" href={doHref('publish')}>
        Publish only…
      </a>
      <a class="btn primary" href={doHref('publish-and-activate')}>
        Publish and activate…
      </a>
    </>
  )
}

function Heading(props: {
  readonly id: string
  readonly versions: readonly BoundaryPolicyVersion[]
  readonly active: BoundaryPolicyVersion | undefined
  readonly stored: BoundaryPolicyVersion | undefined
  readonly validation: Validation | undefined
}): JSX.Element {
  const { id, versions, active, stored, validation } = props
  const next = validation?.nextVersion ?? (versions[0]?.version ?? 0) + 1
  const name = id === NEW_POLICY ? (validation === undefined ? '' : plain(validation.intent?.['policy_id'])) : id
  return (
    <div class="hgroup">
      <b class="big">{name}</b>
      <span class="quiet">
        {stored === undefined ? `draft of version ${next}` : `version ${stored.version}`}
        {active === undefined ? ' · no version is in force' : ` · version ${active.version} is `}
        {active === undefined ? null : <State shape="circle" tone="good" word="in force" />}
      </span>
    </div>
  )
}

/** The draft began from a version that is no longer in force. */
function OtherVersion(props: {
  readonly draft: Draft
  readonly active: BoundaryPolicyVersion | undefined
}): JSX.Element | null {
  const { draft, active } = props
  if (active === undefined || draft.savedAt === '' || draft.from === active.version) return null
  return (
    <div class="content">
      <div class="banner watch" role="status">
        <Shape shape="triangle" />
        <span>
          <b>
            This draft began from version {draft.from ?? 'none'}. Version {active.version} is in force now.
          </b>{' '}
          The difference below is to version {active.version}.
        </span>
      </div>
    </div>
  )
}

function DraftActs(props: {
  readonly query: URLSearchParams
  readonly publication: Publication | undefined
  readonly replay: ReturnType<typeof useReplay>['replay']
}): JSX.Element | null {
  const { query, publication, replay } = props
  if (publication === undefined) return null
  const asked = query.get('do')
  if (asked === 'publish') return <Acts of={[publishAct(publication)]} query={query} />
  if (asked !== 'publish-and-activate') return null
  return (
    <ReplayedAct
      title={`Publish and activate ${publication.policyId} ${publication.version}`}
      replay={replay}
      act={(done) => publishAndActivateAct(publication, done)}
      query={query}
    />
  )
}
