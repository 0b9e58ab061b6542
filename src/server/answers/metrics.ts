import type { Caller } from '../auth/caller.ts'
import { mayAll } from '../auth/scope.ts'
import { maySeeBreaker } from './breaker-scope.ts'
import { maySeeLimit } from './limit-item.ts'
import { metricGroups } from './metric-groups.ts'
import type { Metric, MetricFacts } from './metric-groups.ts'
import { workersFor } from './worker-list.ts'

/** The figures that this caller may see, in the text format of Prometheus. */
export function metricsText(facts: MetricFacts, caller: Pick<Caller, 'can'>): string {
  const visible = visibleTo(caller, facts)
  const lines = metricGroups.flatMap((group) => group(visible)).flatMap(linesOf)
  return `${lines.join('\n')}\n`
}

function visibleTo(caller: Pick<Caller, 'can'>, facts: MetricFacts): MetricFacts {
  const { queues, totals, pressures, limits, breakers } = facts
  const maySee = ({ queue, kind }: { queue: string; kind?: string }): boolean =>
    caller.can('view', kind === undefined ? { queue } : { queue, kind })
  return {
    ...facts,
    queues: {
      ...queues,
      queues: queues.queues.filter(({ queue }) => maySee({ queue })),
      workers: workersFor(caller, queues.workers),
      // Times of claims are not known by queue.
      claims: mayAll(caller) ? queues.claims : { ...queues.claims, ways: {} },
    },
    totals: totals.filter(maySee),
    pressures: pressures.filter(({ queue }) => maySee({ queue })),
    limits: limits.filter((limit) => maySeeLimit(caller, limit)),
    breakers: breakers.filter((breaker) => maySeeBreaker(caller, breaker)),
  }
}

/** A metric without values is left out, with its name and help. */
function linesOf({ name, type, help, samples }: Metric): string[] {
  const lines = samples.flatMap(([labels, value]) => {
    if (value === null || value === undefined) return []
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
    return [`${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`]
  })
  return lines.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines]
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
