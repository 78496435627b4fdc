import { Alarms } from '../campaigns/operate/alarms.ts'
import type { Outage } from './opened.ts'
import { OUTAGES } from './outages.ts'
import { repeatEnd, repeatSample, toSeries, writeOutage } from './recorded-outage.ts'

/** The interval of deploy/prometheus/prometheus.yaml. */
const INTERVAL_SECONDS = 15
const BEFORE = 4
const AFTER = 8
/** Twenty minutes, longer than the longest range of a rule. */
const AFTER_REPEATED = 10

/**
 * Makes real outages and writes what Prometheus would have read: node --conditions=development tests/outages/record.ts
 * [NAME …]. Needs what the campaign operate needs, and up to 15 minutes for each.
 */
async function record(name: string, outage: Outage): Promise<void> {
  const made = await outage.open()
  try {
    const alarms = await Alarms.open(made.targets)
    await alarms.scrape(BEFORE, INTERVAL_SECONDS * 1000)
    await made.begin()
    await alarms.scrape(outage.scrapes, INTERVAL_SECONDS * 1000)
    await made.end()
    await alarms.scrape(AFTER, INTERVAL_SECONDS * 1000)
    const ended = BEFORE + outage.scrapes
    const repeats = outage.repeats ?? 0
    const longer = repeatEnd(alarms.samples(), AFTER, AFTER_REPEATED)
    const samples = repeatSample(longer, ended - 1, repeats)
    const seconds = (scrapes: number): number => scrapes * INTERVAL_SECONDS
    await writeOutage({
      name,
      interval: INTERVAL_SECONDS,
      begins: seconds(BEFORE),
      ends: seconds(ended + repeats),
      lasts: seconds(ended + repeats + AFTER * (1 + AFTER_REPEATED) - 1),
      series: toSeries(samples),
    })
    process.stdout.write(`${name}: recorded\n`)
  } finally {
    await made.close()
  }
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !OUTAGES.has(name))
if (unknown.length > 0) throw new Error(`no outage ${unknown.join(', ')}: there are ${[...OUTAGES.keys()].join(', ')}`)
for (const [name, outage] of OUTAGES) if (chosen.length === 0 || chosen.includes(name)) await record(name, outage)
