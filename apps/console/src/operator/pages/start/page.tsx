import type { NetworkFindings } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { dashboard } from '../../dashboard.ts'
import { findings } from '../../findings.ts'
import { networkFact } from '../../frame.tsx'
import { Bar } from '../../parts/bar.tsx'
import { Command } from '../../parts/command.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Problem } from '../../parts/problem.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { navigate } from '../../router.ts'
import { useStore } from '../../store.ts'
import { type Step, findSaid, hideSteps, isHidden, listSteps, storeSaid } from './steps.ts'

/** What do I do first? Steps that tick themselves, from the state of the authority. */
export function Page(): JSX.Element {
  const live = useStore(findings)
  const found = live?.value
  return (
    <>
      <Bar
        title="First steps"
        asks="What do I do first?"
        live={{ readAt: live?.readAt, isStale: live?.isStale === true }}
      />
      <div class="content" aria-busy={found === undefined && live?.problem === undefined}>
        {live?.problem === undefined ? null : <Problem problem={live.problem} />}
        {found === undefined ? <span class="bone" /> : <Steps found={found} />}
      </div>
    </>
  )
}

function Steps({ found }: { readonly found: NetworkFindings }): JSX.Element {
  const [, renderAgain] = useState(0)
  const steps = listSteps(found.first_steps)
  const done = steps.filter(({ isDone }) => isDone).length
  const next = steps.find(({ isDone, waits }) => !isDone && waits === undefined)
  return (
    <>
      <div class="hero">
        <Ring done={done} all={steps.length} />
        <div>
          <h2>First steps for {networkFact('network')}</h2>
          <p class="quiet">
            {next === undefined
              ? 'All steps are done.'
              : 'They make a network that you can rely on. Each step is ticked when the authority sees that it was done.'}
          </p>
        </div>
      </div>
      <div class="split">
        <section class="panel" aria-label="First steps">
          <ol class="todo">
            {steps.map((step, index) => (
              <StepRow
                key={step.name}
                step={step}
                number={index + 1}
                isNext={step === next}
                onSaid={() => renderAgain((count) => count + 1)}
              />
            ))}
          </ol>
        </section>
        <div class="stack">
          <StatePanel found={found} />
          <section class="panel">
            <header>
              <h2>Look around first</h2>
            </header>
            <div class="body">
              <p class="quiet">A network with 200 nodes, on your own machine:</p>
              <Command text="chancery demo" />
            </div>
          </section>
          <HidePanel />
        </div>
      </div>
    </>
  )
}

/** Part of a circle of radius 24, clockwise from the top. */
function Ring({ done, all }: { readonly done: number; readonly all: number }): JSX.Element {
  const around = 2 * Math.PI * 24
  return (
    <svg class="ring" viewBox="0 0 56 56" role="img" aria-label={`${done} of ${all} done`}>
      <circle class="track" cx="28" cy="28" r="24" />
      <circle
        class="run"
        cx="28"
        cy="28"
        r="24"
        stroke-dasharray={`${(done / all) * around} ${around}`}
        transform="rotate(-90 28 28)"
      />
      <text x="28" y="33">
        {done}/{all}
      </text>
    </svg>
  )
}

function StepRow(props: {
  readonly step: Step
  readonly number: number
  readonly isNext: boolean
  readonly onSaid: () => void
}): JSX.Element {
  const { step, number, isNext } = props
  const hasCommand = !step.isDone && step.command !== undefined && (isNext || step.action === undefined)
  return (
    <li
      class={step.isDone ? 'done' : isNext ? 'next' : ''}
      data-step={step.name}
      data-done={step.isDone ? 'yes' : 'no'}
    >
      <span class="tick">
        {step.isDone ? <Icon name="tick" /> : number}
        <span class="unseen">{step.isDone ? 'Done' : 'Open'}</span>
      </span>
      <div>
        <h2>{step.title}</h2>
        <p>{step.text}</p>
      </div>
      <div>
        <StepAction {...props} />
      </div>
      {hasCommand && step.waits === undefined ? (
        <div class="more">
          <Command text={step.command ?? ''} />
        </div>
      ) : null}
    </li>
  )
}

function StepAction({
  step,
  isNext,
  onSaid,
}: {
  readonly step: Step
  readonly isNext: boolean
  readonly onSaid: () => void
}): JSX.Element | null {
  const { says, action } = step
  if (says !== undefined) {
    const say = (said: 'done' | 'skipped' | undefined) => (): void => {
      storeSaid(says.step, said)
      onSaid()
    }
    if (step.isDone)
      return (
        <>
          <span class="quiet small">{findSaid(says.step) === 'skipped' ? 'Skipped' : 'You said so'}</span>{' '}
          <button type="button" class="btn ghost tiny" onClick={say(undefined)}>
            Not yet
          </button>
        </>
      )
    return (
      <>
        <button type="button" class="btn" onClick={say('done')}>
          {says.done}
        </button>{' '}
        {says.skip === undefined ? null : (
          <button type="button" class="btn ghost" onClick={say('skipped')}>
            {says.skip}
          </button>
        )}
      </>
    )
  }
  if (step.isDone) return null
  if (step.waits !== undefined) return <span class="quiet small">{step.waits}</span>
  return action === undefined ? null : (
    <a class={isNext ? 'btn primary' : 'btn'} href={action.href}>
      {action.text}
    </a>
  )
}

function StatePanel({ found }: { readonly found: NetworkFindings }): JSX.Element {
  const view = useStore(dashboard)?.value
  const isReady = found.passed.includes('ready')
  const { backup_at: backup } = found.first_steps
  const count = (number: number | undefined): string =>
    number === undefined || number === 0 ? 'none yet' : `${number}`
  return (
    <section class="panel">
      <header>
        <h2>State</h2>
      </header>
      <div class="body">
        <Facts
          of={[
            [
              'Authority',
              isReady ? (
                <State shape="circle" tone="good" word="ready" />
              ) : (
                <State shape="square" tone="bad" word="not ready" />
              ),
            ],
            ['Nodes', count(view?.nodes.tracked)],
            ['Treaties', count(view?.treaty_summary.total)],
            ['Policies', found.first_steps.policy_active ? 'in force' : 'none in force'],
            ['Backup', backup === null ? 'none yet' : <Time at={backup} />],
            ['Problems', found.count === 0 ? 'none' : <a href="/operator?all=yes">{found.count}</a>],
          ]}
        />
      </div>
    </section>
  )
}

function HidePanel(): JSX.Element {
  const hide = (isOn: boolean) => (): void => {
    hideSteps(isOn)
    navigate('/operator')
  }
  return (
    <section class="panel">
      <div class="body">
        <p class="quiet">
          The overview replaces this page when the first node has joined. Help has a link to this page.
        </p>
        <p class="gap">
          {isHidden() ? (
            <button type="button" class="btn ghost tiny" onClick={hide(false)}>
              Show the steps on the overview again
            </button>
          ) : (
            <button type="button" class="btn ghost tiny" onClick={hide(true)}>
              Hide the steps
            </button>
          )}
        </p>
      </div>
    </section>
  )
}
